import type { LiveRun, Series } from "../../api";
import { useLive } from "../../api";
import { Sparkline } from "../../charts/Sparkline";
import { useRunView } from "../store/run-view";

/** The loss of a node that trains, as a small picture in it. */
export function NodeCurve({ id }: { id: string }) {
  const run = useRunView();
  const series = useLive(run?.runId ?? null, (live) => lossOf(live, id));
  if (series === undefined || series.length < 2) return null;
  return (
    <div className="node-curve">
      <Sparkline values={series.values} width={180} height={40} />
    </div>
  );
}

function lossOf(live: LiveRun | undefined, id: string): Series | undefined {
  const own = live?.series.filter((series) => series.nodeId === id && series.name === "loss");
  return own?.find((series) => series.scope === "step") ?? own?.[0];
}
