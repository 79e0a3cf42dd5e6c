import { BaseEdge, type EdgeProps, getBezierPath } from "@xyflow/react";
import { memo } from "react";
import { useLive } from "../api";
import type { OutputSummary } from "../api/events";
import { countText, shapeText } from "./format";
import { outputOf } from "./model/catalog";
import { findNode } from "./model/document";
import type { FlowEdge } from "./model/flow";
import { typeColour } from "./PortShape";
import { useEditor, useGraph } from "./store/editor";
import { currentLevel } from "./store/graph-store";
import { useRunView } from "./store/run-view";

/** Wires shorter than this show their shape above them instead of on them. */
const LONG = 120;

export const Wire = memo(function Wire(props: EdgeProps<FlowEdge>) {
  const { source, sourceHandleId, sourceX, sourceY, targetX, targetY, selected } = props;
  const { catalog } = useEditor();
  const sourceType = useGraph((state) => findNode(currentLevel(state), source)?.type);
  const trail = useGraph((state) => state.trail);
  const run = useRunView();
  const module = trail.at(-1);
  const type = outputOf(
    sourceType === undefined ? undefined : catalog.get(sourceType),
    sourceHandleId ?? "",
  )?.type;
  const label = useLive(run?.runId ?? null, (live) => {
    if (module !== undefined) {
      const root = trail[0];
      const inner = root && live?.nodes[root.node]?.inner;
      const path = [...trail.map((open) => open.subgraph), source].join("/");
      return shapeText(inner?.[path]?.shape);
    }
    const node = live?.nodes[source];
    return run?.changed.has(source) === true ? "" : outputText(node?.outputs[sourceHandleId ?? ""]);
  });
  const reached = useLive(
    run?.runId ?? null,
    (live) => live === undefined || ["succeeded", "reused"].includes(live.nodes[source]?.status ?? ""),
  );
  const [path, labelX, labelY] = getBezierPath({
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition: props.sourcePosition,
    targetPosition: props.targetPosition,
  });
  const thin = module === undefined && run?.active === true && !reached;
  const width = (type === "model" ? 3 : 2) / (thin ? 2 : 1);
  const colour = typeColour(type ?? "any");
  const distance = Math.hypot(targetX - sourceX, targetY - sourceY);
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
      {label !== "" && distance > 56 && (
        <WireLabel
          text={label}
          x={labelX}
          y={distance >= LONG ? labelY : Math.min(sourceY, targetY) - 12}
          solid={distance >= LONG}
        />
      )}
    </>
  );
});

function WireLabel({ text, x, y, solid }: { text: string; x: number; y: number; solid: boolean }) {
  const width = text.length * 6.7 + 10;
  return (
    <g className="wire-label" transform={`translate(${x} ${y})`}>
      {solid && <rect x={-width / 2} y={-9} width={width} height={18} rx={4} />}
      <text y={4}>{text}</text>
    </g>
  );
}

/** What went over a wire, in a few characters: its shape, or the number of trained values. */
function outputText(output: OutputSummary | undefined): string {
  if (output === undefined) return "";
  if (typeof output.parameters === "number") return countText(output.parameters);
  const samples = typeof output.samples === "number" ? countText(output.samples) : "";
  const shape = shapeText(output.shape);
  return [samples, shape].filter(Boolean).join(" · ");
}
