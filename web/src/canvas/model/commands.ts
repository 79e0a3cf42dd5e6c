// Every change of a graph is one of these commands: data, applied by a pure function, so that undo is a matter of keeping
// the document from before.
import {
  edgeId,
  findNode,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  levelOf,
  type Point,
  type Scope,
  withLevel,
} from "./document";

export type Command =
  | { do: "add"; scope: Scope; nodes: readonly GraphNode[]; edges?: readonly GraphEdge[] }
  | { do: "remove"; scope: Scope; nodes: readonly string[]; edges: readonly string[] }
  | { do: "move"; scope: Scope; positions: Readonly<Record<string, Point>> }
  | { do: "connect"; scope: Scope; edge: GraphEdge }
  /** `value: undefined` puts the default back. */
  | { do: "param"; scope: Scope; node: string; name: string; value: unknown }
  /** An empty label shows the type's name again. */
  | { do: "label"; scope: Scope; node: string; label: string }
  | { do: "subgraph"; name: string; nodes: readonly GraphNode[]; edges: readonly GraphEdge[] }
  | { do: "setting"; name: "device" | "seed"; value: string | number | null }
  | { do: "all"; commands: readonly Command[] };

/** The document after `command`; the same object when nothing changes. */
export function apply(doc: GraphDocument, command: Command): GraphDocument {
  switch (command.do) {
    case "add": {
      const level = levelOf(doc, command.scope);
      return withLevel(doc, command.scope, {
        nodes: [...level.nodes, ...command.nodes],
        edges: [...level.edges, ...(command.edges ?? [])],
      });
    }
    case "remove":
      return remove(doc, command.scope, new Set(command.nodes), new Set(command.edges));
    case "move": {
      const { positions } = command;
      return editNodes(doc, command.scope, (node) => {
        const to = positions[node.id];
        return to === undefined || (to.x === node.position.x && to.y === node.position.y)
          ? node
          : { ...node, position: { ...node.position, x: to.x, y: to.y } };
      });
    }
    case "connect":
      return connect(doc, command.scope, command.edge);
    case "param":
      return editNode(doc, command.scope, command.node, (node) =>
        setParam(node, command.name, command.value),
      );
    case "label":
      return editNode(doc, command.scope, command.node, (node) => setLabel(node, command.label));
    case "subgraph":
      return {
        ...doc,
        subgraphs: { ...doc.subgraphs, [command.name]: { nodes: command.nodes, edges: command.edges } },
      };
    case "setting":
      if ((doc.settings?.[command.name] ?? null) === command.value) return doc;
      return { ...doc, settings: { ...doc.settings, [command.name]: command.value } };
    case "all":
      return command.commands.reduce(apply, doc);
  }
}

function editNodes(doc: GraphDocument, scope: Scope, edit: (node: GraphNode) => GraphNode): GraphDocument {
  const level = levelOf(doc, scope);
  let changed = false;
  const nodes = level.nodes.map((node) => {
    const next = edit(node);
    if (next !== node) changed = true;
    return next;
  });
  return changed ? withLevel(doc, scope, { nodes }) : doc;
}

function editNode(
  doc: GraphDocument,
  scope: Scope,
  id: string,
  edit: (node: GraphNode) => GraphNode,
): GraphDocument {
  return editNodes(doc, scope, (node) => (node.id === id ? edit(node) : node));
}

function setParam(node: GraphNode, name: string, value: unknown): GraphNode {
  if (Object.is(node.data.params[name], value)) return node;
  const params = { ...node.data.params };
  if (value === undefined) delete params[name];
  else params[name] = value;
  return { ...node, data: { ...node.data, params } };
}

function setLabel(node: GraphNode, label: string): GraphNode {
  if ((node.data.label ?? "") === label) return node;
  const { label: _, ...data } = node.data;
  return { ...node, data: label === "" ? { ...data } : { ...data, label } };
}

function connect(doc: GraphDocument, scope: Scope, edge: GraphEdge): GraphDocument {
  const level = levelOf(doc, scope);
  const id = edgeId(edge);
  if (level.edges.some((other) => edgeId(other) === id)) return doc;
  // An input takes one wire: the new one takes the place of the old.
  const others = level.edges.filter(
    (other) => other.target !== edge.target || other.targetHandle !== edge.targetHandle,
  );
  return withLevel(doc, scope, { edges: [...others, edge] });
}

function remove(
  doc: GraphDocument,
  scope: Scope,
  nodes: ReadonlySet<string>,
  edges: ReadonlySet<string>,
): GraphDocument {
  const level = levelOf(doc, scope);
  const keptNodes = level.nodes.filter((node) => !nodes.has(node.id));
  const keptEdges = level.edges.filter(
    (edge) => !edges.has(edgeId(edge)) && !nodes.has(edge.source) && !nodes.has(edge.target),
  );
  if (keptNodes.length === level.nodes.length && keptEdges.length === level.edges.length) return doc;
  return withLevel(doc, scope, { nodes: keptNodes, edges: keptEdges });
}

/** An id that no node of the level has: `conv2d`, `conv2d_2`, `conv2d_3` … */
export function freshId(
  doc: GraphDocument,
  scope: Scope,
  type: string,
  taken: readonly string[] = [],
): string {
  const level = levelOf(doc, scope);
  const stem = type
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
  const free = (id: string) => findNode(level, id) === undefined && !taken.includes(id);
  if (free(stem)) return stem;
  for (let count = 2; ; count += 1) {
    const id = `${stem}_${count}`;
    if (free(id)) return id;
  }
}

/** Copies of nodes with fresh ids beside the originals, with the wires among them. */
export function duplicate(
  doc: GraphDocument,
  scope: Scope,
  ids: readonly string[],
  offset: Point,
): { command: Command; ids: string[] } {
  const level = levelOf(doc, scope);
  const names = new Map<string, string>();
  const nodes: GraphNode[] = [];
  for (const node of level.nodes) {
    if (!ids.includes(node.id)) continue;
    const id = freshId(doc, scope, node.type, [...names.values()]);
    names.set(node.id, id);
    nodes.push({
      ...structuredClone(node),
      id,
      position: { x: node.position.x + offset.x, y: node.position.y + offset.y },
    });
  }
  const edges = level.edges.flatMap((edge) => {
    const source = names.get(edge.source);
    const target = names.get(edge.target);
    if (source === undefined || target === undefined) return [];
    const { id: _, ...rest } = edge;
    return [{ ...rest, source, target }];
  });
  return { command: { do: "add", scope, nodes, edges }, ids: [...names.values()] };
}
