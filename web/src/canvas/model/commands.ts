// Every change of a graph is one of these commands: data, applied by a pure function, so that undo is a matter of keeping
// the document from before.
import {
  edgeId,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  isNote,
  type Level,
  levelOf,
  type Note,
  type Point,
  putLevel,
  type Scope,
  withLevel,
} from "./document";
import { trimmed } from "./interface";

export type Command =
  | {
      do: "add";
      scope: Scope;
      nodes: readonly GraphNode[];
      edges?: readonly GraphEdge[];
      notes?: readonly Note[];
    }
  /** `nodes` are nodes and notes. */
  | { do: "remove"; scope: Scope; nodes: readonly string[]; edges: readonly string[] }
  | { do: "move"; scope: Scope; positions: Readonly<Record<string, Point>> }
  | { do: "connect"; scope: Scope; edge: GraphEdge }
  /** `value: undefined` puts the default back. */
  | { do: "param"; scope: Scope; node: string; name: string; value: unknown }
  /** An empty label shows the type's name again. */
  | { do: "label"; scope: Scope; node: string; label: string }
  /** A mark of some nodes, such as that they are collapsed; `false` takes it away. */
  | { do: "mark"; scope: Scope; nodes: readonly string[]; mark: "collapsed" | "bypassed"; on: boolean }
  | { do: "note"; scope: Scope; note: string; change: Partial<Pick<Note, "text" | "size" | "position">> }
  /** Put another node in the place of the one with its id. */
  | { do: "swap"; scope: Scope; node: GraphNode }
  /** Put a subgraph or a preset there, or take it away. */
  | { do: "level"; scope: string; level: Level | null }
  /** Other nodes, wires or further entries of a level, such as what a group shows outside. */
  | { do: "patch"; scope: Scope; change: Partial<Level> }
  | { do: "setting"; name: "device" | "seed"; value: string | number | null }
  | { do: "all"; commands: readonly Command[] };

/** The document after `command`; the same object when nothing changes. */
export function apply(doc: GraphDocument, command: Command): GraphDocument {
  switch (command.do) {
    case "add":
      return add(doc, command);
    case "remove":
      return remove(doc, command.scope, new Set(command.nodes), new Set(command.edges));
    case "move":
      return move(doc, command.scope, command.positions);
    case "connect":
      return connect(doc, command.scope, command.edge);
    case "param":
      return editNode(doc, command.scope, command.node, (node) =>
        setParam(node, command.name, command.value),
      );
    case "label":
      return editNode(doc, command.scope, command.node, (node) => setLabel(node, command.label));
    case "mark": {
      const ids = new Set(command.nodes);
      return editNodes(doc, command.scope, (node) =>
        ids.has(node.id) ? setMark(node, command.mark, command.on) : node,
      );
    }
    case "note":
      return editNotes(doc, command.scope, (note) =>
        note.id === command.note ? { ...note, ...command.change } : note,
      );
    case "swap":
      return editNode(doc, command.scope, command.node.id, () => command.node);
    case "level":
      return putLevel(doc, command.scope, command.level);
    case "patch":
      return withLevel(doc, command.scope, command.change);
    case "setting":
      if ((doc.settings?.[command.name] ?? null) === command.value) return doc;
      return { ...doc, settings: { ...doc.settings, [command.name]: command.value } };
    case "all":
      return command.commands.reduce(apply, doc);
  }
}

function add(doc: GraphDocument, command: Extract<Command, { do: "add" }>): GraphDocument {
  const { nodes, edges = [], notes = [] } = command;
  if (nodes.length + edges.length + notes.length === 0) return doc;
  const level = levelOf(doc, command.scope);
  const change: { -readonly [K in keyof Level]: Level[K] } = {
    nodes: [...level.nodes, ...nodes],
    edges: [...level.edges, ...edges],
  };
  if (notes.length > 0) change.notes = [...rawNotes(level), ...notes];
  return withLevel(doc, command.scope, change);
}

function move(doc: GraphDocument, scope: Scope, positions: Readonly<Record<string, Point>>): GraphDocument {
  const moved = <T extends { id: string; position: Point }>(item: T): T => {
    const to = positions[item.id];
    return to === undefined || (to.x === item.position.x && to.y === item.position.y)
      ? item
      : { ...item, position: { ...item.position, x: to.x, y: to.y } };
  };
  return editNotes(editNodes(doc, scope, moved), scope, moved);
}

/** All entries, those that are no notes too: they stay. */
function rawNotes(level: Level): readonly unknown[] {
  return Array.isArray(level.notes) ? level.notes : [];
}

function editNotes(doc: GraphDocument, scope: Scope, edit: (note: Note) => Note): GraphDocument {
  const before = rawNotes(levelOf(doc, scope));
  const notes = before.map((note) => (isNote(note) ? edit(note) : note));
  return notes.some((note, at) => note !== before[at]) ? withLevel(doc, scope, { notes }) : doc;
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

function setMark(node: GraphNode, mark: "collapsed" | "bypassed", on: boolean): GraphNode {
  if ((node.data[mark] === true) === on) return node;
  const { [mark]: _, ...data } = node.data;
  return { ...node, data: on ? { ...data, [mark]: true } : data };
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
  const notes = rawNotes(level);
  const keptNotes = notes.filter((note) => !isNote(note) || !nodes.has(note.id));
  const change: { -readonly [K in keyof Level]?: Level[K] } = {};
  if (keptNodes.length < level.nodes.length) change.nodes = keptNodes;
  if (keptEdges.length < level.edges.length) change.edges = keptEdges;
  if (keptNotes.length < notes.length) change.notes = keptNotes;
  if (Object.keys(change).length === 0) return doc;
  const after = withLevel(doc, scope, change);
  // A group shows nothing of nodes that it has lost.
  const shown = trimmed(levelOf(after, scope), nodes);
  return scope === null || shown === levelOf(after, scope) ? after : putLevel(after, scope, shown);
}
