// Which nodes a finished run no longer speaks for.
import { edgeId, type GraphDocument, type GraphNode, type Level, subgraphOf } from "./document";

function stable(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function content(doc: GraphDocument, node: GraphNode): string {
  const subgraph = subgraphOf(node);
  const inner = subgraph === null ? null : doc.subgraphs?.[subgraph];
  return stable([
    node.type,
    node.data.params,
    inner
      ? [
          inner.nodes.map((child) => [child.id, child.type, child.data.params]),
          inner.edges.map(edgeId).sort(),
        ]
      : null,
  ]);
}

function inputs(level: Level, id: string): string {
  return stable(
    level.edges
      .filter((edge) => edge.target === id)
      .map(edgeId)
      .sort(),
  );
}

/** Nodes whose parameters or wires differ from those that ran, and all that depend on them. */
export function changedSince(ran: GraphDocument, now: GraphDocument): Set<string> {
  const before = new Map(ran.nodes.map((node) => [node.id, node]));
  const changed = new Set<string>();
  for (const node of now.nodes) {
    const old = before.get(node.id);
    if (
      old === undefined ||
      content(ran, old) !== content(now, node) ||
      inputs(ran, node.id) !== inputs(now, node.id)
    ) {
      changed.add(node.id);
    }
  }
  const open = [...changed];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const edge of now.edges) {
      if (edge.source === id && !changed.has(edge.target)) {
        changed.add(edge.target);
        open.push(edge.target);
      }
    }
  }
  return changed;
}
