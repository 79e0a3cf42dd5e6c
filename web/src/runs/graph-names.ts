// Names of a graph's nodes, for places that only know their ids.

/** Label of each node that has one, by id. */
export function nodeNames(graph: unknown): Map<string, string> {
  const names = new Map<string, string>();
  const nodes = (graph as { nodes?: unknown } | null)?.nodes;
  if (!Array.isArray(nodes)) return names;
  for (const node of nodes as { id?: unknown; data?: { label?: unknown } }[]) {
    if (typeof node.id !== "string") continue;
    const label = node.data?.label;
    names.set(node.id, typeof label === "string" && label !== "" ? label : node.id);
  }
  return names;
}

/** The seed that the graph's settings ask for, if any. */
export function graphSeed(graph: unknown): number | null {
  const seed = (graph as { settings?: { seed?: unknown } } | null)?.settings?.seed;
  return typeof seed === "number" ? seed : null;
}
