// The rows of the Runs page: pages loaded so far, kept fresh by small merges. Pure.
import type { RunSummary } from "../api";
import { ENDED_STATUSES } from "../api";

export interface RunRows {
  /** Newest first. */
  rows: readonly RunSummary[];
  nextCursor: string | null;
}

/** Rows by number, newest first; of two rows of one run the later one counts. */
export function merged(rows: readonly RunSummary[], fresh: readonly RunSummary[]): RunSummary[] {
  const byId = new Map(rows.map((row) => [row.run_id, row]));
  for (const row of fresh) byId.set(row.run_id, row);
  return [...byId.values()].sort((a, b) => b.number - a.number);
}

export function isLive(run: RunSummary): boolean {
  return !ENDED_STATUSES.has(run.status);
}

/**
 * Loaded rows that were live and are in none of the fresh answers: they ended, or were deleted, further down than
 * the newest page reaches.
 */
export function unaccounted(rows: readonly RunSummary[], fresh: readonly RunSummary[]): string[] {
  const seen = new Set(fresh.map((row) => row.run_id));
  return rows.filter((row) => isLive(row) && !seen.has(row.run_id)).map((row) => row.run_id);
}

/** Rows that the newest page should hold and does not: they were deleted, or no longer have the status asked for. */
export function vanished(
  rows: readonly RunSummary[],
  newestPage: readonly RunSummary[],
  isWhole: boolean,
): string[] {
  const oldest = newestPage.at(-1)?.number ?? Number.POSITIVE_INFINITY;
  const seen = new Set(newestPage.map((row) => row.run_id));
  return rows
    .filter((row) => (isWhole || row.number >= oldest) && !seen.has(row.run_id))
    .map((row) => row.run_id);
}

/** Whether a run matches what was typed: its number, or all words in its name, graph, worker or device. */
export function matches(run: RunSummary, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const haystack = [run.name, run.graph_name, run.worker_id ?? "", run.device ?? ""].join(" ").toLowerCase();
  return words.every(
    (word) => haystack.includes(word) || String(run.number) === word.replace(/^#/, "") || run.run_id === word,
  );
}
