// The document as React Flow draws it. Nodes and wires that did not change stay the same objects.
import type { Edge, Node } from "@xyflow/react";
import { inOrder } from "./connect";
import { edgeId, type GraphNode, type Level, type Note, notesOf } from "./document";

export interface FlowNodeData extends Record<string, unknown> {
  node: GraphNode;
  /** Names of wired ports: `<input`, `>output`. */
  wired: ReadonlySet<string>;
}

export interface FlowNoteData extends Record<string, unknown> {
  note: Note;
}

export type GraphFlowNode = Node<FlowNodeData, "graph">;
export type NoteFlowNode = Node<FlowNoteData, "note" | "frame">;
export type FlowNode = GraphFlowNode | NoteFlowNode;

export function isNoteNode(node: FlowNode): node is NoteFlowNode {
  return node.type === "note" || node.type === "frame";
}
export type FlowEdge = Edge<Record<string, never>, "wire">;

function wiredPorts(level: Level): Map<string, Set<string>> {
  const wired = new Map<string, Set<string>>();
  const add = (id: string, port: string) => {
    const ports = wired.get(id);
    if (ports) ports.add(port);
    else wired.set(id, new Set([port]));
  };
  for (const edge of level.edges) {
    add(edge.source, `>${edge.sourceHandle}`);
    add(edge.target, `<${edge.targetHandle}`);
  }
  return wired;
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size !== b.size) return false;
  for (const item of a) if (!b.has(item)) return false;
  return true;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Nodes for React Flow, in the order in which data goes through them, which is that of Tab and of screen readers. What
 * it measured and what is selected is taken over from `before`.
 */
export function toFlowNodes(level: Level, before: readonly FlowNode[]): FlowNode[] {
  const known = new Map(before.map((node) => [node.id, node]));
  const wired = wiredPorts(level);
  const nodes = new Map(level.nodes.map((node) => [node.id, node]));
  const drawn = inOrder(level).flatMap((id): FlowNode[] => {
    const node = nodes.get(id);
    if (node === undefined) return [];
    const old = known.get(id);
    const ports = wired.get(id) ?? NONE;
    if (old === undefined || isNoteNode(old)) {
      return [{ id, type: "graph", position: node.position, data: { node, wired: ports } }];
    }
    const samePorts = sameSet(old.data.wired, ports);
    const samePlace = old.position.x === node.position.x && old.position.y === node.position.y;
    if (old.data.node === node && samePorts && samePlace) return [old];
    return [
      {
        ...old,
        position: samePlace ? old.position : node.position,
        data: { node, wired: samePorts ? old.data.wired : ports },
      },
    ];
  });
  return [...notesOf(level).map((note) => toFlowNote(note, known.get(note.id))), ...drawn];
}

function toFlowNote(note: Note, old: FlowNode | undefined): FlowNode {
  if (old !== undefined && isNoteNode(old) && old.data.note === note) return old;
  return {
    ...(old !== undefined && isNoteNode(old) ? old : {}),
    id: note.id,
    type: note.kind,
    position: note.position,
    width: note.size.width,
    height: note.size.height,
    // A frame lies under everything that it holds.
    zIndex: note.kind === "frame" ? -1 : 0,
    data: { note },
  };
}

export function toFlowEdges(level: Level, before: readonly FlowEdge[]): FlowEdge[] {
  const known = new Map(before.map((edge) => [edge.id, edge]));
  return level.edges.map((edge) => {
    const id = edgeId(edge);
    return (
      known.get(id) ?? {
        id,
        type: "wire",
        source: edge.source,
        sourceHandle: edge.sourceHandle,
        target: edge.target,
        targetHandle: edge.targetHandle,
      }
    );
  });
}
