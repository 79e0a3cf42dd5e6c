import type { LiveRun, Series } from "../../api";
import { useLive } from "../../api";
import { Sparkline } from "../../charts/Sparkline";
import { useRunId } from "../store/run-view";

/** The loss of a node that trains, as a small picture in it. */
export function NodeCurve({ path }: { path: string }) {
  const series = useLive(useRunId(), (live) => lossOf(live, path));
  if (series === undefined || series.length < 2) return null;
  return (
    <div className="node-curve">
      <Sparkline values={series.values} width={180} height={40} />
    </div>
  );
}

function lossOf(live: LiveRun | undefined, path: string): Series | undefined {
  const own = live?.series.filter((series) => series.nodeId === path && series.name === "loss");
  return own?.find((series) => series.scope === "step") ?? own?.[0];
}
