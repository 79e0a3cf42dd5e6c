import { useQuery } from "@tanstack/react-query";
import { api, fromJsonNumber, keys, type RunSummary } from "../api";
import { isLive } from "./run-list";

/** Longer series are shown from their first so many points while they run; their shape no longer changes much. */
const MOST_POINTS = 20_000;

/** A run's loss per step, for the drawing in its row. */
export function useSparkline(run: RunSummary): ArrayLike<number> {
  const live = isLive(run);
  const has = run.latest_metrics !== undefined && "loss" in run.latest_metrics;
  const { data } = useQuery({
    queryKey: [...keys.sparkline(run.run_id), live],
    queryFn: async ({ signal }) => {
      const page = await api.metrics(run.run_id, { name: "loss", limit: MOST_POINTS }, signal);
      const steps = page.points.filter((point) => (point.scope ?? "step") === "step");
      return Float64Array.from(steps.length > 1 ? steps : page.points, (point) =>
        fromJsonNumber(point.value),
      );
    },
    enabled: has,
    staleTime: live ? 2_000 : Number.POSITIVE_INFINITY,
    refetchInterval: live ? 3_000 : false,
    placeholderData: (before) => before,
  });
  return data ?? [];
}
