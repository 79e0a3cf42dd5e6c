export default function WorkersPage() {
  return <main className="page" />;
}
