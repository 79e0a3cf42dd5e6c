import { type ConnectionLineComponentProps, getBezierPath, useConnection } from "@xyflow/react";
import { useTranslation } from "react-i18next";
import { inputOf, outputOf } from "./model/catalog";
import { refuses } from "./model/connect";
import { findNode, type GraphEdge } from "./model/document";
import { typeColour } from "./PortShape";
import { useRefusalText } from "./refusal";
import { useEditor, useGraph, useTypes } from "./store/editor";
import { currentLevel } from "./store/graph-store";

/** The wire that is being drawn: dashed in its type's colour, dotted red over a port that refuses it. */
export function WireInHand(props: ConnectionLineComponentProps) {
  const { store } = useEditor();
  const types = useTypes();
  const { fromX, fromY, toX, toY, fromPosition, toPosition, fromHandle, connectionStatus } = props;
  const node = findNode(currentLevel(store.getState()), fromHandle.nodeId);
  const definition = node && types.of(node);
  const port =
    fromHandle.type === "source"
      ? outputOf(definition, fromHandle.id ?? "")
      : inputOf(definition, fromHandle.id ?? "");
  const refused = connectionStatus === "invalid";
  const colour = refused ? "var(--bad)" : typeColour(port?.type ?? "any");
  const [path] = getBezierPath({
    sourceX: fromX,
    sourceY: fromY,
    targetX: toX,
    targetY: toY,
    sourcePosition: fromPosition,
    targetPosition: toPosition,
  });
  return (
    <g fill="none" stroke={colour} strokeWidth={2}>
      <path d={path} strokeDasharray={refused ? "2 3" : "6 4"} />
      {refused ? (
        <path d={`M${toX - 4} ${toY - 4}l8 8M${toX + 4} ${toY - 4}l-8 8`} />
      ) : (
        <circle cx={toX} cy={toY} r={4.5} fill={colour} stroke="none" />
      )}
    </g>
  );
}

/** Why the port under the pointer refuses the wire, in words beside the pointer. */
export function RefusalTip() {
  const { t } = useTranslation("canvas");
  const word = useRefusalText();
  const types = useTypes();
  const level = useGraph(currentLevel);
  const hand = useConnection((connection) =>
    connection.inProgress && connection.isValid === false && connection.toHandle !== null
      ? {
          from: connection.fromHandle,
          to: connection.toHandle,
          x: connection.pointer.x,
          y: connection.pointer.y,
        }
      : null,
  );
  if (hand === null) return null;
  const [source, target] = hand.from.type === "source" ? [hand.from, hand.to] : [hand.to, hand.from];
  if (source.type !== "source" || target.type !== "target") {
    return <Tip x={hand.x} y={hand.y} text={t("refusal.sameSide")} />;
  }
  const edge: GraphEdge = {
    source: source.nodeId,
    sourceHandle: source.id ?? "",
    target: target.nodeId,
    targetHandle: target.id ?? "",
  };
  const refusal = refuses(level, types, edge);
  if (refusal === null) return null;
  return <Tip x={hand.x} y={hand.y} text={word(refusal)} />;
}

function Tip({ x, y, text }: { x: number; y: number; text: string }) {
  return (
    <div className="refusal" role="status" style={{ left: x + 14, top: y + 14 }}>
      {text}
    </div>
  );
}
