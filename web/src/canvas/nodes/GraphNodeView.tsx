import { type NodeProps, useUpdateNodeInternals } from "@xyflow/react";
import { memo, useEffect, useMemo, useRef } from "react";
import type { GraphProblem, PortDefinition } from "../../api/types";
import { Icon } from "../../ui/Icon";
import { StateGlyph } from "../../ui/StateMark";
import { durationText } from "../format";
import { iconOf } from "../icons";
import { isBypassed, isCollapsed, isGroup, nodeTitle } from "../model/document";
import type { GraphFlowNode } from "../model/flow";
import { useDefinition, useGraph } from "../store/editor";
import { nodePath } from "../store/graph-store";
import { type NodeState, useNodeView } from "../store/run-view";
import { useNodeKeys } from "../use-node-keys";
import { useNodeWords } from "../words";
import { NodeBody } from "./NodeBody";
import { NodeFoot } from "./NodeFoot";
import { NodePorts } from "./NodePorts";
import { NodeTitle } from "./NodeTitle";

const NO_PROBLEMS: readonly GraphProblem[] = [];

/** A node of the canvas. Where it stands and how large it is are no business of what it shows. */
export const GraphNodeView = memo(
  DrawnNode,
  (before, now) => before.id === now.id && before.data === now.data && before.selected === now.selected,
);

function DrawnNode({ id, data, selected }: NodeProps<GraphFlowNode>) {
  const words = useNodeWords();
  const { t } = words;
  const { node, wired } = data;
  const definition = useDefinition(node);
  const path = useGraph((state) => nodePath(state, id));
  const view = useNodeView(path, isGroup(node));
  const problems = useProblemsOf(path);
  const keys = useNodeKeys(id);
  const title = nodeTitle(node, definition && words.title(definition));
  const { state } = view;
  const problem = state === "failed" || state === "running" ? undefined : problems[0];
  const unknown = definition === undefined;
  const collapsed = isCollapsed(node);
  const bypassed = isBypassed(node);
  const inputs = useMemo(() => withLost(definition?.inputs, wired, "<"), [definition, wired]);
  const outputs = useMemo(() => withLost(definition?.outputs, wired, ">"), [definition, wired]);
  usePortsKnown(id, `${collapsed}|${inputs.map(portKey)}|${outputs.map(portKey)}`);
  const wiredInputs = inputs.filter((port) => wired.has(`<${port.name}`)).length;
  const stateWord = state === "resting" || state === "stale" ? "" : t(`state.${state}`, { ns: "common" });
  const name = [
    title,
    bypassed ? t("editor:bypassed") : "",
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
    problem !== undefined && !bypassed ? "node-needs" : "",
    unknown ? "node-unknown" : "",
    collapsed ? "node-collapsed" : "",
    bypassed ? "node-bypassed" : "",
  ].join(" ");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: nodes are reached and moved with the keyboard
    <article className={className} aria-label={name} tabIndex={0} data-node={id} {...keys}>
      <header className="node-head">
        <Icon name={iconOf(definition)} className="ink-2" />
        <NodeTitle id={id} title={title} label={node.data.label ?? ""} />
        {bypassed ? (
          <span className="node-off">{t("editor:off")}</span>
        ) : (
          <NodeMark
            state={state}
            word={problem !== undefined ? t("nodeNeeds") : state === "stale" ? t("nodeStale") : stateWord}
            needs={problem !== undefined}
            seconds={view.live?.durationS ?? null}
          />
        )}
        {state === "running" && <NodeProgressBar fraction={view.live?.progress?.fraction ?? 0} />}
      </header>
      <NodePorts inputs={inputs} outputs={outputs} wired={wired} small={collapsed || bypassed} />
      {!collapsed && !bypassed && (
        <div className="node-more">
          <NodeBody path={path} node={node} definition={definition} words={words} />
          <NodeFoot
            node={node}
            view={view}
            problem={problem}
            unknown={unknown}
            source={inputs.length === 0}
            words={words}
          />
        </div>
      )}
    </article>
  );
}

const portKey = (port: PortDefinition) => `${port.name}:${port.type}`;

/** Ports that were wired and are not there any more stay drawn as long as their wires do, so that these can be seen. */
function withLost(
  ports: readonly PortDefinition[] | undefined,
  wired: ReadonlySet<string>,
  mark: "<" | ">",
): readonly PortDefinition[] {
  const lost = [...wired].filter(
    (port) => port.startsWith(mark) && !ports?.some((known) => known.name === port.slice(1)),
  );
  if (lost.length === 0) return ports ?? [];
  return [
    ...(ports ?? []),
    ...lost.map((port) => ({ name: port.slice(1), label: port.slice(1), type: "any", required: false })),
  ];
}

/** Tell the canvas to look again where the ports are when there are others. */
function usePortsKnown(id: string, ports: string): void {
  const update = useUpdateNodeInternals();
  const last = useRef(ports);
  useEffect(() => {
    if (last.current === ports) return;
    last.current = ports;
    update(id);
  }, [update, id, ports]);
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

interface MarkProps {
  state: NodeState;
  word: string;
  needs: boolean;
  seconds: number | null;
}

function NodeMark({ state, word, needs, seconds }: MarkProps) {
  if (needs) {
    return (
      <span className="warn">
        <Icon name="warning" label={word} />
      </span>
    );
  }
  if (state === "resting") return null;
  if (state === "stale") {
    return (
      <span className="ink-3">
        <Icon name="stale" label={word} />
      </span>
    );
  }
  return (
    <>
      {seconds !== null && <span className="node-time">{durationText(seconds)}</span>}
      <StateGlyph state={state} name={word} />
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
