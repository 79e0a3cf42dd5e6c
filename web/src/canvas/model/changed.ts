// Which nodes a finished run no longer speaks for.
import { edgeId, findLevel, type GraphDocument, type GraphNode, type Level, scopeBehind } from "./document";

function stable(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function content(doc: GraphDocument, node: GraphNode): string {
  const scope = scopeBehind(node);
  const inner = scope === null ? null : findLevel(doc, scope);
  return stable([
    node.type,
    node.data.params,
    node.data.bypassed === true,
    inner
      ? [
          inner.nodes.map((child) => [child.id, child.type, child.data.params]),
          inner.edges.map(edgeId).sort(),
        ]
      : null,
  ]);
}

/** The wires into each node, as text. */
function inputs(level: Level): Map<string, string> {
  const into = new Map<string, string[]>();
  for (const edge of level.edges) {
    const known = into.get(edge.target);
    if (known) known.push(edgeId(edge));
    else into.set(edge.target, [edgeId(edge)]);
  }
  return new Map([...into].map(([id, wires]) => [id, wires.sort().join(" ")]));
}

/** Nodes whose parameters or wires differ from those that ran, and all that depend on them. */
export function changedSince(ran: GraphDocument, now: GraphDocument): Set<string> {
  const before = new Map(ran.nodes.map((node) => [node.id, node]));
  const wired = { ran: inputs(ran), now: inputs(now) };
  const changed = new Set<string>();
  for (const node of now.nodes) {
    const old = before.get(node.id);
    const same =
      old !== undefined &&
      wired.ran.get(node.id) === wired.now.get(node.id) &&
      // The document is immutable: the same object says the same, but for what stands inside it.
      ((old === node && scopeBehind(node) === null) || content(ran, old) === content(now, node));
    if (!same) changed.add(node.id);
  }
  const next = new Map<string, string[]>();
  for (const edge of now.edges) {
    const known = next.get(edge.source);
    if (known) known.push(edge.target);
    else next.set(edge.source, [edge.target]);
  }
  const open = [...changed];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const target of next.get(id) ?? []) {
      if (changed.has(target)) continue;
      changed.add(target);
      open.push(target);
    }
  }
  return changed;
}
