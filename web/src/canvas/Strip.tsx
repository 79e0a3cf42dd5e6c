import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useAwaySince, useConnectionState, useLive, useWorkers } from "../api";
import { SavedItem } from "../drafts/SavedItem";
import { useFormat } from "../i18n/format";
import { Icon } from "../ui/Icon";
import { countText } from "./format";
import { totalParameters } from "./model/shapes";
import { useGraph } from "./store/editor";
import { currentLevel } from "./store/graph-store";
import { useRunView } from "./store/run-view";
import { useView } from "./store/view";

/** The last line: saved or not, how large, whether it can run, and what the machines are doing. */
export function Strip() {
  const { t } = useTranslation("canvas");
  const level = useGraph(currentLevel);
  const problems = useGraph((state) => state.problems.length);
  const checked = useGraph((state) => state.checked);
  const run = useRunView();
  const nodes = useLive(run?.runId ?? null, (live) => live?.nodes);
  const known = useGraph((state) => totalParameters(state.shapes));
  const built = useMemo(
    () =>
      Object.values(nodes ?? {}).reduce(
        (sum, node) =>
          sum + Object.values(node.inner).reduce((all, layer) => all + (layer.parameters ?? 0), 0),
        0,
      ),
    [nodes],
  );
  const parameters = known > 0 ? known : built;
  const size = [
    t("nodeCount", { count: level.nodes.length }),
    t("wireCount", { count: level.edges.length }),
    parameters > 0 ? t("parameters", { count: parameters, text: countText(parameters) }) : "",
  ].filter(Boolean);
  return (
    <footer className="strip">
      <SavedItem />
      <span>{size.join(" · ")}</span>
      <button
        type="button"
        className="strip-button"
        onClick={() => useView.getState().set({ dockOpen: true, dockTab: "problems" })}
      >
        {problems > 0 ? (
          <span className="warn">
            <Icon name="warning" size={14} />
          </span>
        ) : (
          <Icon name={checked ? "succeeded" : "queued"} size={14} />
        )}
        {problems > 0 ? t("problemCount", { count: problems }) : t(checked ? "noProblems" : "checking")}
      </button>
      <span className="grow" />
      <Connection />
      <Machines />
    </footer>
  );
}

function Connection() {
  const { t } = useTranslation("canvas");
  const state = useConnectionState();
  const run = useRunView();
  const away = useAwaySince() !== null;
  if (state !== "waiting" && !away) return null;
  const words = run?.active !== true ? "connectionLost" : away ? "connectionLostAway" : "connectionLostLive";
  return (
    <span className="strip-item" role="status">
      <span className="warn">
        <Icon name="disconnected" size={14} />
      </span>
      {t(words)}
    </span>
  );
}

/** How busy this server and its workers are, as far as is known. */
function Machines() {
  const { t } = useTranslation("canvas");
  const format = useFormat();
  const { data } = useWorkers();
  const run = useRunView();
  const away = useAwaySince();
  if (data === undefined) return null;
  const count = (own: boolean) => {
    let used = 0;
    let limit = 0;
    for (const worker of data.workers) {
      if ((worker.worker_id === "local") !== own || worker.state !== "online") continue;
      for (const device of worker.devices) {
        used += device.slots.used;
        limit += device.slots.limit;
      }
    }
    return { used, limit };
  };
  const workers = count(false);
  // The canvas runs beside the slots, which are those of the queue.
  const here = run?.active === true && run.row?.lane === "interactive";
  const parts = [t(here ? "serverCanvasSlots" : "serverSlots", count(true))];
  if (workers.limit > 0) parts.push(t("workerSlots", workers));
  return (
    <>
      {parts.map((part) => (
        <span key={part} className={away === null ? "" : "ink-3"}>
          {away === null ? part : t("asOf", { what: part, time: format.time(away) })}
        </span>
      ))}
    </>
  );
}
