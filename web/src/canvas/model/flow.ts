// The document as React Flow draws it. Nodes and wires that did not change stay the same objects.
import type { Edge, Node } from "@xyflow/react";
import { edgeId, type GraphNode, type Level } from "./document";

export interface FlowNodeData extends Record<string, unknown> {
  node: GraphNode;
  /** Names of wired ports: `<input`, `>output`. */
  wired: ReadonlySet<string>;
}

export type FlowNode = Node<FlowNodeData, "graph">;
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

/** Nodes for React Flow. What it measured and what is selected is taken over from `before`. */
export function toFlowNodes(level: Level, before: readonly FlowNode[]): FlowNode[] {
  const known = new Map(before.map((node) => [node.id, node]));
  const wired = wiredPorts(level);
  return level.nodes.map((node) => {
    const old = known.get(node.id);
    const ports = wired.get(node.id) ?? NONE;
    if (old === undefined) {
      return { id: node.id, type: "graph", position: node.position, data: { node, wired: ports } };
    }
    const samePorts = sameSet(old.data.wired, ports);
    const samePlace = old.position.x === node.position.x && old.position.y === node.position.y;
    if (old.data.node === node && samePorts && samePlace) return old;
    return {
      ...old,
      position: samePlace ? old.position : node.position,
      data: { node, wired: samePorts ? old.data.wired : ports },
    };
  });
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
