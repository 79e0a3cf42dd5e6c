import { Handle, type NodeProps, Position, useStore as useFlow } from "@xyflow/react";
import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { fromJsonNumber, type InnerNode, type OutputSummary, useLive } from "../api";
import type { GraphProblem, NodeDefinition, PortDefinition } from "../api/types";
import { clockText, metricText } from "../charts/format";
import { Icon } from "../ui/Icon";
import { StateMark } from "../ui/StateMark";
import { countText, durationText, shapeText } from "./format";
import { iconOf } from "./icons";
import { nodeTitle, subgraphOf } from "./model/document";
import type { FlowNode } from "./model/flow";
import { layersOf } from "./model/layers";
import { preview } from "./model/params";
import { knownShapeText } from "./model/shapes";
import { NodeCurve } from "./NodeCurve";
import { PortShape } from "./PortShape";
import { progressText } from "./progress";
import { useEditor, useGraph } from "./store/editor";
import { documentOf, nodePath } from "./store/graph-store";
import {
  type NodeState,
  type NodeView,
  parametersOf,
  useInner,
  useNodeView,
  useRunView,
} from "./store/run-view";
import { useNodeKeys } from "./use-node-keys";
import { useWords } from "./words";

const NO_PROBLEMS: readonly GraphProblem[] = [];
const RESTING: NodeView = { state: "resting", live: undefined };

export const GraphNodeView = memo(function GraphNodeView({ id, data, selected }: NodeProps<FlowNode>) {
  const { catalog } = useEditor();
  const inside = useGraph((state) => state.trail.length > 0);
  const view = useNodeView(id);
  const { node, wired } = data;
  const definition = catalog.get(node.type);
  return (
    <NodeCard
      id={id}
      definition={definition}
      node={node}
      wired={wired}
      selected={selected}
      view={inside ? RESTING : view}
    />
  );
});

interface CardProps {
  id: string;
  node: FlowNode["data"]["node"];
  definition: NodeDefinition | undefined;
  wired: ReadonlySet<string>;
  selected: boolean;
  view: NodeView;
}

function NodeCard({ id, node, definition, wired, selected, view }: CardProps) {
  const { t } = useTranslation("canvas");
  const words = useWords();
  const path = useGraph((state) => nodePath(state, id));
  const problems = useProblemsOf(path);
  const keys = useNodeKeys(id);
  const far = useFlow((state) => state.transform[2] < 0.45);
  const title = nodeTitle(node, definition && words.title(definition));
  const { state } = view;
  const problem = state === "failed" || state === "running" ? undefined : problems[0];
  const unknown = definition === undefined;
  const inputs = definition?.inputs ?? unknownPorts(wired, "<");
  const outputs = definition?.outputs ?? unknownPorts(wired, ">");
  const wiredInputs = inputs.filter((port) => wired.has(`<${port.name}`)).length;
  const stateWord = state === "resting" || state === "stale" ? "" : t(`state.${state}`, { ns: "common" });
  const name = [
    title,
    problem !== undefined ? t("nodeNeeds") : state === "stale" ? t("nodeStale") : stateWord.toLowerCase(),
    inputs.length > 0 ? t("inputsWired", { wired: wiredInputs, count: inputs.length }) : "",
  ]
    .filter(Boolean)
    .join(t("nameSeparator"));
  const className = [
    "node",
    selected ? "node-selected" : "",
    state === "queued" || state === "skipped" ? "node-waiting" : "",
    state === "failed" ? "node-failed" : "",
    problem !== undefined ? "node-needs" : "",
    unknown ? "node-unknown" : "",
    far ? "node-far" : "",
  ].join(" ");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: nodes are reached and moved with the keyboard
    <article className={className} aria-label={name} tabIndex={0} data-node={id} {...keys}>
      <header className="node-head">
        <Icon name={iconOf(definition)} className="ink-2" />
        <span className="node-title">{title}</span>
        <NodeMark state={state} needs={problem !== undefined} seconds={view.live?.durationS ?? null} />
        {state === "running" && <NodeProgressBar fraction={view.live?.progress?.fraction ?? 0} />}
      </header>
      <Ports inputs={inputs} outputs={outputs} wired={wired} />
      {!far && <NodeBody id={id} node={node} definition={definition} />}
      {!far && (
        <NodeFoot node={node} view={view} problem={problem} unknown={unknown} source={inputs.length === 0} />
      )}
    </article>
  );
}

function useProblemsOf(path: string): readonly GraphProblem[] {
  const problems = useGraph((state) => state.problems);
  return useMemo(() => {
    // A module answers for what is wrong inside it.
    const own = problems.filter(
      (problem) => problem.node_id === path || problem.node_id?.startsWith(`${path}/`) === true,
    );
    return own.length === 0 ? NO_PROBLEMS : own;
  }, [problems, path]);
}

function unknownPorts(wired: ReadonlySet<string>, mark: "<" | ">"): PortDefinition[] {
  return [...wired]
    .filter((port) => port.startsWith(mark))
    .map((port) => ({ name: port.slice(1), label: port.slice(1), type: "any" }));
}

function NodeMark({ state, needs, seconds }: { state: NodeState; needs: boolean; seconds: number | null }) {
  const { t } = useTranslation("canvas");
  if (needs) {
    return (
      <span className="warn">
        <Icon name="warning" label={t("nodeNeeds")} />
      </span>
    );
  }
  if (state === "stale") {
    return (
      <span className="ink-3">
        <Icon name="stale" label={t("nodeStale")} />
      </span>
    );
  }
  if (state === "resting") return null;
  return (
    <>
      {seconds !== null && <span className="node-time">{durationText(seconds)}</span>}
      <StateMark state={state} />
    </>
  );
}

function NodeProgressBar({ fraction }: { fraction: number }) {
  const percent = Math.round(Math.min(1, Math.max(0, fraction)) * 100);
  return (
    <span
      className="node-progress"
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <i style={{ width: `${percent}%` }} />
    </span>
  );
}

interface PortsProps {
  inputs: readonly PortDefinition[];
  outputs: readonly PortDefinition[];
  wired: ReadonlySet<string>;
}

function Ports({ inputs, outputs, wired }: PortsProps) {
  const rows = Math.max(inputs.length, outputs.length);
  if (rows === 0) return null;
  return (
    <div className="node-ports">
      {Array.from({ length: rows }, (_, row) => {
        const input = inputs[row];
        const output = outputs[row];
        return (
          <div className="node-port-row" key={`${input?.name ?? ""}|${output?.name ?? ""}`}>
            {input !== undefined && <Port port={input} side="input" wired={wired.has(`<${input.name}`)} />}
            <span className="grow" />
            {output !== undefined && (
              <Port port={output} side="output" wired={wired.has(`>${output.name}`)} />
            )}
          </div>
        );
      })}
    </div>
  );
}

function Port({ port, side, wired }: { port: PortDefinition; side: "input" | "output"; wired: boolean }) {
  const isInput = side === "input";
  return (
    <>
      <Handle
        type={isInput ? "target" : "source"}
        position={isInput ? Position.Left : Position.Right}
        id={port.name}
        className={`port port-${side}`}
        data-type={port.type}
        title={`${port.name}: ${port.type}`}
      >
        <PortShape type={port.type} filled={wired} />
      </Handle>
      <span>{port.name.replaceAll("_", " ")}</span>
    </>
  );
}

interface BodyProps {
  id: string;
  node: FlowNode["data"]["node"];
  definition: NodeDefinition | undefined;
}

function NodeBody({ id, node, definition }: BodyProps) {
  const words = useWords();
  const subgraph = subgraphOf(node);
  if (subgraph !== null) return <Layers id={id} subgraph={subgraph} />;
  if (definition === undefined) return null;
  const shown = preview(node, definition);
  return (
    <>
      {shown.length > 0 && (
        <dl className="node-preview">
          {shown.map((row) => (
            <div key={row.param.name}>
              <dt>{words.paramLabel(row.param).toLowerCase()}</dt>
              <dd>{row.choice === null ? row.value : words.choiceLabel(row.choice)}</dd>
            </div>
          ))}
        </dl>
      )}
      <NodeCurve id={id} />
    </>
  );
}

function Layers({ id, subgraph }: { id: string; subgraph: string }) {
  const path = useGraph((state) => nodePath(state, id));
  const shapes = useGraph((state) => state.shapes);
  const doc = useGraph(documentOf);
  const { catalog } = useEditor();
  const layers = useMemo(() => layersOf(doc, subgraph), [doc, subgraph]);
  const inner = useInner(subgraph);
  if (layers.length === 0) return null;
  return (
    <table className="node-layers">
      <tbody>
        {layers.map((layer) => {
          const built: InnerNode | undefined = inner[`${subgraph}/${layer.id}`];
          const at = `${path}/${layer.id}`;
          const port = catalog.get(layer.type)?.outputs[0]?.name ?? "";
          const known = shapes.outputs.get(`${at}>${port}`)?.shape;
          // Without the batch, as the layer's own documentation writes it.
          const shape = known === undefined ? shapeText(built?.shape) : knownShapeText(known.slice(1));
          const parameters = shapes.parameters.get(at) ?? built?.parameters;
          return (
            <tr key={layer.id}>
              <td>{layer.label ?? catalog.get(layer.type)?.type ?? layer.type}</td>
              <td>{shape}</td>
              <td>{parameters ? countText(parameters) : ""}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface FootProps {
  /** Whether data begins here. */
  source: boolean;
  node: FlowNode["data"]["node"];
  view: NodeView;
  problem: GraphProblem | undefined;
  unknown: boolean;
}

function NodeFoot({ node, view, problem, unknown, source }: FootProps) {
  const { t } = useTranslation("canvas");
  const words = useWords();
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
  const subgraph = subgraphOf(node);
  if (subgraph !== null) return <ModuleFoot id={node.id} subgraph={subgraph} />;
  return state === "resting" || live === undefined ? null : (
    <ResultFoot outputs={live.outputs} source={source} />
  );
}

/** What the node gave, in a few words: how much data, or the first numbers. */
function ResultFoot({
  outputs,
  source,
}: {
  outputs: Readonly<Record<string, OutputSummary>>;
  source: boolean;
}) {
  const { t } = useTranslation("canvas");
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
  const run = useRunView();
  const built = useLive(run?.runId ?? null, (live) => parametersOf(live, subgraph));
  const count = useGraph((state) => state.shapes.parameters.get(nodePath(state, id))) ?? built;
  return (
    <footer className="node-foot">
      <span>{count > 0 ? t("parameters", { count, text: countText(count) }) : ""}</span>
      <span className="ink-3">{t("openModule")}</span>
    </footer>
  );
}
