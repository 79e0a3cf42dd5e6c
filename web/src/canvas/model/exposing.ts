// Changing what a group shows outside, with all its instances following.
import type { Command } from "./commands";
import {
  findLevel,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  type Level,
  levelOf,
  presetScope,
  type Scope,
  scopeBehind,
} from "./document";
import {
  type ExposedParam,
  type ExposedPort,
  type Interface,
  interfaceOf,
  renamedOutside,
} from "./interface";

/** All levels of a document by their scope. */
export function levelsOf(doc: GraphDocument): [Scope, Level][] {
  const presets = Object.keys(doc.presets ?? {}).map(presetScope);
  return [
    [null, doc],
    ...Object.entries(doc.subgraphs ?? {}),
    ...presets
      .filter((scope) => findLevel(doc, scope) !== undefined)
      .map((scope): [Scope, Level] => [scope, levelOf(doc, scope)]),
  ];
}

/**
 * Give a group another interface. Wires and values of its instances follow a new name; those of what is not shown any
 * more go.
 */
export function setInterface(doc: GraphDocument, scope: string, after: Interface): Command {
  const before = interfaceOf(levelOf(doc, scope));
  const samePort = (a: ExposedPort, b: ExposedPort) => a.node === b.node && a.port === b.port;
  const sameParam = (a: ExposedParam, b: ExposedParam) => a.node === b.node && a.param === b.param;
  const commands: Command[] = [];
  for (const [at, level] of levelsOf(doc)) {
    const instances = new Set(level.nodes.filter((node) => isInstance(node, scope)).map((node) => node.id));
    if (instances.size === 0) continue;
    const edges = level.edges.flatMap((edge): GraphEdge[] => {
      const from = instances.has(edge.source)
        ? renamedOutside(before.outputs, after.outputs, samePort, edge.sourceHandle)
        : edge.sourceHandle;
      const to = instances.has(edge.target)
        ? renamedOutside(before.inputs, after.inputs, samePort, edge.targetHandle)
        : edge.targetHandle;
      if (from === null || to === null) return [];
      if (from === edge.sourceHandle && to === edge.targetHandle) return [edge];
      const { id: _, ...rest } = edge;
      return [{ ...rest, sourceHandle: from, targetHandle: to }];
    });
    const nodes = level.nodes.map((node) =>
      instances.has(node.id)
        ? withParams(node, before.params, (name) =>
            renamedOutside(before.params, after.params, sameParam, name),
          )
        : node,
    );
    commands.push({ do: "patch", scope: at, change: { nodes, edges } });
  }
  commands.push({
    do: "patch",
    scope,
    change: { inputs: after.inputs, outputs: after.outputs, params: after.params },
  });
  return { do: "all", commands };
}

function isInstance(node: GraphNode, scope: string): boolean {
  return (node.type === "Preset" || node.type === "Subgraph") && scopeBehind(node) === scope;
}

function withParams(
  node: GraphNode,
  shown: readonly ExposedParam[],
  renamed: (name: string) => string | null,
): GraphNode {
  const params = Object.entries(node.data.params).flatMap(([name, value]): [string, unknown][] => {
    if (!shown.some((item) => item.name === name)) return [[name, value]];
    const now = renamed(name);
    return now === null ? [] : [[now, value]];
  });
  return { ...node, data: { ...node.data, params: Object.fromEntries(params) } };
}
