export default function RunPage(_: { runId: string; tab?: string | undefined }) {
  return <main className="page" />;
}
