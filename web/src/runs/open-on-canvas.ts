// From a run to the canvas: the graph as it ran, with the run's states on it.
import { api, type RunDetail } from "../api";

/** Parts of a document that decide what a run does. Places, labels and selection on the canvas are not among them. */
function essence(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(essence);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key]) => key !== "position" && key !== "description" && key !== "format_version")
    .filter(([, item]) => item !== undefined && item !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, item]) => [key, essence(item)]);
}

/** Whether two documents would run alike. Pure. */
export function sameGraph(a: unknown, b: unknown): boolean {
  return JSON.stringify(essence(a)) === JSON.stringify(essence(b));
}

async function namedGraph(name: string): Promise<unknown> {
  const { graphs } = await api.graphs();
  if (graphs.some((graph) => graph.name === name)) return (await api.graph(name)).graph;
  const { examples } = await api.examples();
  return examples.some((example) => example.name === name) ? (await api.example(name)).graph : null;
}

/**
 * Name of a graph on the canvas that is as the run's. The graph of the run's own name if it has not changed since;
 * else a copy under a name of its own, so that nothing that was drawn later is lost.
 *
 * Rejects with an ApiProblem.
 */
export async function graphForRun(run: RunDetail): Promise<string> {
  const own = await namedGraph(run.graph_name);
  if (own !== null && sameGraph(own, run.graph)) return run.graph_name;
  const copy = `${run.graph_name.slice(0, 80)}-run-${run.number}`;
  const kept = await namedGraph(copy);
  if (kept !== null) return copy;
  await api.saveGraph(copy, { ...(run.graph as object), name: copy }, 0);
  return copy;
}

/** Let the canvas show `run` on the graph called `name`. */
export async function showRunOn(name: string, runId: string): Promise<void> {
  const [{ openGraph }, { rememberRun }] = await Promise.all([
    import("../canvas/store/open-graphs"),
    import("../canvas/store/runs"),
  ]);
  rememberRun(name, runId);
  (await openGraph(name)).getState().set({ runId });
}
