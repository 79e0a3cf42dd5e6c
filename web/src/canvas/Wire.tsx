import { BaseEdge, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import { useLive } from "../api";
import type { OutputSummary } from "../api/events";
import { countText, shapeText } from "./format";
import { outputOf } from "./model/catalog";
import { findNode, subgraphOf } from "./model/document";
import type { FlowEdge } from "./model/flow";
import { factOf, knownShapeText } from "./model/shapes";
import { typeColour } from "./PortShape";
import { useDefinition, useGraph } from "./store/editor";
import { currentLevel, nodePath } from "./store/graph-store";
import { innerOf, parametersOf, useRun, useRunId } from "./store/run-view";
import { wirePath } from "./wire-path";

/** Wires shorter than this show their shape above them instead of on them. */
const LONG = 100;

export const Wire = memo(function Wire(props: EdgeProps<FlowEdge>) {
  const { source, sourceHandleId, sourceX, sourceY, targetX, targetY, selected } = props;
  const node = useGraph((state) => findNode(currentLevel(state), source));
  const trail = useGraph((state) => state.trail);
  const runId = useRunId();
  const changed = useRun((run) => run?.changed.has(source) === true);
  const active = useRun((run) => run?.active === true);
  const type = outputOf(useDefinition(node), sourceHandleId ?? "")?.type;
  const subgraph = node === undefined ? null : subgraphOf(node);
  const inside = trail.length > 0;
  const known = useGraph((state) => {
    const path = nodePath(state, source);
    const parameters = type === "model" ? state.shapes.parameters.get(path) : undefined;
    if (parameters !== undefined) return countText(parameters);
    const fact = factOf(state.shapes, path, sourceHandleId ?? "");
    return fact === undefined ? "" : knownShapeText(fact.shape);
  });
  const at = useGraph((state) => nodePath(state, source));
  const told = useLive(runId, (live) => {
    const given = live?.nodes[at]?.outputs[sourceHandleId ?? ""];
    if (inside) {
      // The layers of a module are told by the node that built it, those of a group tell for themselves.
      if (given !== undefined) return outputText(given);
      const path = [...trail.map((open) => open.subgraph), source].join("/");
      return shapeText(innerOf(live, trail[0]?.subgraph ?? null)[path]?.shape);
    }
    if (changed) return "";
    const parameters = parametersOf(live, subgraph);
    return parameters > 0 ? countText(parameters) : outputText(given);
  });
  // What a run gave is more than what can be told beforehand.
  const label = told === "" ? known : told;
  const reached = useLive(
    runId,
    (live) => live === undefined || ["succeeded", "reused"].includes(live.nodes[at]?.status ?? ""),
  );
  const [path, labelX, labelY] = wirePath(sourceX, sourceY, targetX, targetY);
  const thin = !inside && active && !reached;
  const width = (type === "model" ? 3 : 2) / (thin ? 2 : 1);
  const colour = typeColour(type ?? "any");
  const room = targetX - sourceX - 20;
  return (
    <>
      {selected === true && (
        <path d={path} fill="none" stroke="var(--ink)" strokeWidth={width + 4} className="wire-selected" />
      )}
      <BaseEdge
        id={props.id}
        path={path}
        interactionWidth={20}
        style={{ stroke: colour, strokeWidth: width }}
      />
      {label !== "" && labelWidth(label) <= room && (
        <WireLabel text={label} x={labelX} y={room >= LONG ? labelY : labelY - 12} solid={room >= LONG} />
      )}
    </>
  );
});

function WireLabel({ text, x, y, solid }: { text: string; x: number; y: number; solid: boolean }) {
  const width = labelWidth(text);
  return (
    <g className="wire-label" transform={`translate(${x} ${y})`}>
      {solid && <rect x={-width / 2} y={-9} width={width} height={18} rx={4} />}
      <text y={4}>{text}</text>
    </g>
  );
}

function labelWidth(text: string): number {
  return text.length * 6.7 + 10;
}

/** What went over a wire, in a few characters: its shape, or the number of trained values. */
function outputText(output: OutputSummary | undefined): string {
  if (output === undefined) return "";
  if (typeof output.parameters === "number" && output.parameters > 0) return countText(output.parameters);
  const samples = typeof output.samples === "number" ? countText(output.samples) : "";
  const shape = shapeText(output.shape);
  return [samples, shape].filter(Boolean).join(" · ");
}
