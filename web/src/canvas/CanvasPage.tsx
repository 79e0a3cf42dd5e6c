export default function CanvasPage(_: { name?: string }) {
  return <main className="page" />;
}
