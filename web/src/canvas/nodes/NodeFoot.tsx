import { useTranslation } from "react-i18next";
import { fromJsonNumber, type OutputSummary, useLive } from "../../api";
import type { GraphProblem } from "../../api/types";
import { clockText, metricText } from "../../charts/format";
import { countText } from "../format";
import { type GraphNode, scopeBehind } from "../model/document";
import { progressText } from "../progress";
import { useGraph } from "../store/editor";
import { nodePath } from "../store/graph-store";
import { type NodeView, parametersOf, useRunId } from "../store/run-view";
import type { Words } from "../words";

interface FootProps {
  /** Whether data begins here. */
  source: boolean;
  node: GraphNode;
  view: NodeView;
  problem: GraphProblem | undefined;
  unknown: boolean;
  words: Words;
}

/** The last line of a node, if there is something to say. */
export function NodeFoot({ node, view, problem, unknown, source, words }: FootProps) {
  const { t } = words;
  const { state, live } = view;
  const error = live?.error;
  if (state === "failed") {
    return (
      <footer className="node-foot node-foot-bad" title={error?.message}>
        <span className="clip">{error ? words.short(error) : t("state.failed", { ns: "common" })}</span>
      </footer>
    );
  }
  if (problem !== undefined) {
    return (
      <footer className="node-foot node-foot-warn" title={problem.message}>
        <span className="clip">{words.short(problem)}</span>
      </footer>
    );
  }
  if (unknown) return <footer className="node-foot">{t("notInstalled")}</footer>;
  const progress = live?.progress;
  if (state === "running" && progress) {
    const text = progressText(progress, t);
    const eta = progress.eta_s;
    if (text !== "" || (eta !== null && eta !== undefined)) {
      return (
        <footer className="node-foot">
          <span className="clip">{text}</span>
          {eta !== null && eta !== undefined && (
            <span className="ink-3">{t("left", { time: clockText(eta) })}</span>
          )}
        </footer>
      );
    }
  }
  const subgraph = scopeBehind(node);
  if (subgraph !== null) return <ModuleFoot id={node.id} subgraph={subgraph} />;
  return state === "resting" || live === undefined ? null : (
    <ResultFoot outputs={live.outputs} source={source} t={t} />
  );
}

/** What the node gave, in a few words: how much data, or the first numbers. */
function ResultFoot({
  outputs,
  source,
  t,
}: {
  outputs: Readonly<Record<string, OutputSummary>>;
  source: boolean;
  t: Words["t"];
}) {
  const all = Object.values(outputs);
  const data = all.filter((output) => typeof output.samples === "number");
  if (data.length > 0) {
    const classes = data[0]?.classes;
    const counts = data.map((output) => countText(output.samples as number)).join(" · ");
    return (
      <footer className="node-foot" title={data[0]?.summary}>
        {/* Several counts fill the line by themselves. */}
        <span className="clip">{data.length > 1 ? counts : t("samples", { counts })}</span>
        {source && typeof classes === "number" && (
          <span className="ink-3">{t("classes", { count: classes })}</span>
        )}
      </footer>
    );
  }
  const values = all.find((output) => output.type === "metrics")?.values;
  const first = isNumbers(values)
    ? (["accuracy", "val_accuracy", "loss", "val_loss"].find((name) => name in values) ??
      Object.keys(values)[0])
    : undefined;
  if (isNumbers(values) && first !== undefined) {
    return (
      <footer className="node-foot">
        <span className="clip ink-3">
          {t(`measure.${first}`, { defaultValue: first.replaceAll("_", " ") })}
        </span>
        <span className="mono">{metricText(fromJsonNumber(values[first] as number))}</span>
      </footer>
    );
  }
  return null;
}

function isNumbers(value: unknown): value is Record<string, number | string> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ModuleFoot({ id, subgraph }: { id: string; subgraph: string }) {
  const { t } = useTranslation("canvas");
  const built = useLive(useRunId(), (live) => parametersOf(live, subgraph));
  const count = useGraph((state) => state.shapes.parameters.get(nodePath(state, id))) ?? built;
  return (
    <footer className="node-foot">
      <span>{count > 0 ? t("parameters", { count, text: countText(count) }) : ""}</span>
      <span className="ink-3">{t("openModule")}</span>
    </footer>
  );
}
