import { useRuns, useRunsChanged } from "../api";

/** How many runs are going on, kept fresh by the server. */
export function useLiveRunCount(): number {
  useRunsChanged();
  const { data } = useRuns(null, 1);
  const counts = data?.pages[0]?.counts ?? {};
  return (counts.running ?? 0) + (counts.disconnected ?? 0);
}
