// Which run a graph shows. It is remembered for this browser tab, so that a reload in mid-run finds it again.
import { ApiProblem, api, ENDED_STATUSES } from "../../api";

const KEY = "codefy.run.";

function recall(name: string): string | null {
  try {
    return sessionStorage.getItem(KEY + name);
  } catch {
    return null;
  }
}

export function rememberRun(name: string, runId: string | null): void {
  try {
    if (runId === null) sessionStorage.removeItem(KEY + name);
    else sessionStorage.setItem(KEY + name, runId);
  } catch {
    // Storage may be blocked; the run is then found only while it is live.
  }
}

/** Whether a run is one of the graph saved as `name`: runs are named by what was open, else by the document. */
export function isRunOf(run: { name: string; graph_name: string }, name: string): boolean {
  return (run.name === "" ? run.graph_name : run.name) === name;
}

/** How far back the last run of a graph is looked for. */
const LOOK_BACK = 200;

/** The run to show for a graph just opened: the one this tab showed, else one that is going on, else its last. */
export async function findRun(name: string): Promise<string | null> {
  const known = recall(name);
  try {
    if (known !== null) {
      const run = await api.run(known);
      return run.run_id;
    }
    const { runs } = await api.runs({ limit: LOOK_BACK });
    const own = runs.filter((run) => isRunOf(run, name));
    const live = own.find((run) => !ENDED_STATUSES.has(run.status));
    return (live ?? own[0])?.run_id ?? null;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) rememberRun(name, null);
    return null;
  }
}
