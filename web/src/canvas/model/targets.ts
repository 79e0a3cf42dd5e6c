// Where a wire from a port could go, nearest first.
import type { PortDefinition } from "../../api/types";
import { type Refusal, refuses } from "./connect";
import { findNode, type GraphEdge, type GraphNode, type Level } from "./document";
import type { WireInHand } from "./search";
import type { Types } from "./types";

export interface WireTarget {
  node: GraphNode;
  port: PortDefinition;
  edge: GraphEdge;
  /** Why the wire may not be drawn; `null` when it may. */
  refusal: Refusal | null;
  /** The input has a wire already, which this one would take the place of. */
  taken: boolean;
}

/** The ports of a node that wires begin at, outputs first. */
export function startsOf(level: Level, types: Types, id: string): WireInHand[] {
  const node = findNode(level, id);
  const definition = node && types.of(node);
  return [
    ...(definition?.outputs ?? []).map((port) => ({
      node: id,
      port: port.name,
      type: port.type,
      end: "source" as const,
    })),
    ...(definition?.inputs ?? []).map((port) => ({
      node: id,
      port: port.name,
      type: port.type,
      end: "target" as const,
    })),
  ];
}

/** All ports on the other side: those that fit first, free before taken, near before far. */
export function targetsOf(level: Level, types: Types, wire: WireInHand): WireTarget[] {
  const from = findNode(level, wire.node);
  const wired = new Set(level.edges.map((edge) => `${edge.target}.${edge.targetHandle}`));
  const targets = level.nodes.flatMap((node) => {
    if (node.id === wire.node) return [];
    const definition = types.of(node);
    const ports = wire.end === "source" ? definition?.inputs : definition?.outputs;
    return (ports ?? []).map((port): WireTarget => {
      const edge =
        wire.end === "source"
          ? { source: wire.node, sourceHandle: wire.port, target: node.id, targetHandle: port.name }
          : { source: node.id, sourceHandle: port.name, target: wire.node, targetHandle: wire.port };
      const taken = wire.end === "source" && wired.has(`${node.id}.${port.name}`);
      return { node, port, edge, taken, refusal: refuses(level, types, edge) };
    });
  });
  const distance = ({ node }: WireTarget) =>
    Math.hypot(node.position.x - (from?.position.x ?? 0), node.position.y - (from?.position.y ?? 0));
  const order = (target: WireTarget) => (target.refusal !== null ? 2 : target.taken ? 1 : 0);
  return targets.sort((a, b) => order(a) - order(b) || distance(a) - distance(b));
}
