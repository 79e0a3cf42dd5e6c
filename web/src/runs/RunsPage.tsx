export default function RunsPage() {
  return <main className="page" />;
}
