// The graph file as the canvas holds it: plain immutable objects. Keys that this version does not know stay where they are.

export interface Point {
  x: number;
  y: number;
}

export interface NodeData {
  params: Readonly<Record<string, unknown>>;
  label?: string;
  [key: string]: unknown;
}

export interface GraphNode {
  id: string;
  type: string;
  position: Point;
  data: NodeData;
  [key: string]: unknown;
}

export interface GraphEdge {
  id?: string;
  source: string;
  sourceHandle: string;
  target: string;
  targetHandle: string;
  [key: string]: unknown;
}

/** Nodes and wires of one level: the graph itself, or the inside of a module. */
export interface Level {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  [key: string]: unknown;
}

/** What a comment says, or the frame around some nodes. It stands among a level's `notes`, which no run looks at. */
export interface Note {
  id: string;
  kind: "note" | "frame";
  position: Point;
  size: { width: number; height: number };
  text: string;
  [key: string]: unknown;
}

export interface GraphDocument extends Level {
  format_version: number;
  name: string;
  description?: string;
  subgraphs?: Readonly<Record<string, Level>>;
  /** Levels with an interface; what is no level stays as it is. */
  presets?: Readonly<Record<string, unknown>>;
  settings?: { device?: string | null; seed?: number | null; [key: string]: unknown };
}

/** Which level: `null` for the graph, the name of a subgraph, or what `presetScope` makes of a preset's name. */
export type Scope = string | null;

/** No subgraph is called so: the mark cannot be typed. */
const PRESET_MARK = "\u0000preset ";

export function presetScope(name: string): string {
  return PRESET_MARK + name;
}

/** The preset that a scope stands for, if it stands for one. */
export function presetIn(scope: Scope): string | null {
  return scope?.startsWith(PRESET_MARK) === true ? scope.slice(PRESET_MARK.length) : null;
}

/** What is wrong with a file that was meant to be a graph. `at` is where. */
export class NotAGraph extends Error {
  readonly at: string;

  constructor(at: string) {
    super(`not a graph: ${at}`);
    this.name = "NotAGraph";
    this.at = at;
  }
}

export function emptyDocument(name: string): GraphDocument {
  return { format_version: 1, name, nodes: [], edges: [] };
}

const EMPTY_LEVEL: Level = { nodes: [], edges: [] };

export function levelOf(doc: GraphDocument, scope: Scope): Level {
  if (scope === null) return doc;
  return findLevel(doc, scope) ?? EMPTY_LEVEL;
}

/** The level, if there is one of that name. */
export function findLevel(doc: GraphDocument, scope: Scope): Level | undefined {
  if (scope === null) return doc;
  const preset = presetIn(scope);
  if (preset === null) return own(doc.subgraphs, scope);
  const found = own(doc.presets, preset);
  return isLevel(found) ? found : undefined;
}

/** Names come from files: one may be called as something that every object has. */
function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

function isLevel(value: unknown): value is Level {
  return isObject(value) && Array.isArray(value.nodes) && Array.isArray(value.edges);
}

/** The document with other nodes or wires at one level. */
export function withLevel(doc: GraphDocument, scope: Scope, change: Partial<Level>): GraphDocument {
  if (scope === null) return { ...doc, ...change };
  return putLevel(doc, scope, { ...levelOf(doc, scope), ...change });
}

/** The document with a level of that name, or without it. */
export function putLevel(doc: GraphDocument, scope: string, level: Level | null): GraphDocument {
  const preset = presetIn(scope);
  const key = preset === null ? "subgraphs" : "presets";
  const { [preset ?? scope]: _, ...others } = doc[key] ?? {};
  const next: GraphDocument = {
    ...doc,
    [key]: level === null ? others : { ...doc[key], [preset ?? scope]: level },
  };
  if (Object.keys(next[key] ?? {}).length === 0) delete next[key];
  return next;
}

const indexes = new WeakMap<readonly GraphNode[], Map<string, GraphNode>>();

export function findNode(level: Level, id: string): GraphNode | undefined {
  const { nodes } = level;
  let index = indexes.get(nodes);
  if (index === undefined) {
    // Of two with one id the first counts, as for the server.
    index = new Map([...nodes].reverse().map((node) => [node.id, node]));
    indexes.set(nodes, index);
  }
  return index.get(id);
}

/** A wire's name within its level; the file need not give one. */
export function edgeId(edge: GraphEdge): string {
  return `${edge.source}.${edge.sourceHandle}->${edge.target}.${edge.targetHandle}`;
}

/** The subgraph that a module node shows, if it names one. */
export function subgraphOf(node: GraphNode): string | null {
  const name = node.data.params.subgraph;
  return typeof name === "string" && name !== "" ? name : null;
}

/** The level behind a node: a module's layers, a group, a preset. */
export function scopeBehind(node: GraphNode): string | null {
  if (node.type !== "Preset") return subgraphOf(node);
  const name = node.data.params.preset;
  return typeof name === "string" && name !== "" ? presetScope(name) : null;
}

/** Whether the node is one that the run replaces by the nodes of its group. */
export function isGroup(node: GraphNode): boolean {
  return node.type === "Preset" || node.type === "Subgraph";
}

/** The notes of a level; entries that are none are left alone and not drawn. */
export function notesOf(level: Level): readonly Note[] {
  const all = level.notes;
  if (!Array.isArray(all)) return NO_NOTES;
  return all.every(isNote) ? all : all.filter(isNote);
}

const NO_NOTES: readonly Note[] = [];

export function isNote(value: unknown): value is Note {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    (value.kind === "note" || value.kind === "frame") &&
    typeof value.text === "string" &&
    isPoint(value.position) &&
    isObject(value.size) &&
    typeof value.size.width === "number" &&
    typeof value.size.height === "number"
  );
}

function isPoint(value: unknown): value is Point {
  return isObject(value) && typeof value.x === "number" && typeof value.y === "number";
}

export function isBypassed(node: GraphNode): boolean {
  return node.data.bypassed === true;
}

export function isCollapsed(node: GraphNode): boolean {
  return node.data.collapsed === true;
}

/** What people call a node: the author's label, else the name of its type. */
export function nodeTitle(node: GraphNode, typeTitle: string | undefined): string {
  const label = node.data.label;
  return label !== undefined && label !== "" ? label : (typeTitle ?? node.type);
}

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readLevel(value: Json, at: string): Level {
  if (!Array.isArray(value.nodes)) throw new NotAGraph(`${at}nodes`);
  const nodes = value.nodes.map((node: unknown, index) => readNode(node, `${at}nodes[${index}]`));
  const edges = Array.isArray(value.edges)
    ? value.edges.map((edge: unknown, index) => readEdge(edge, `${at}edges[${index}]`))
    : [];
  return { ...value, nodes, edges };
}

function readNode(value: unknown, at: string): GraphNode {
  if (!isObject(value) || typeof value.id !== "string" || typeof value.type !== "string") {
    throw new NotAGraph(at);
  }
  const position = isObject(value.position) ? value.position : {};
  const data = isObject(value.data) ? value.data : {};
  return {
    ...value,
    id: value.id,
    type: value.type,
    position: {
      x: typeof position.x === "number" ? position.x : 0,
      y: typeof position.y === "number" ? position.y : 0,
    },
    data: { ...data, params: isObject(data.params) ? data.params : {} },
  };
}

function readEdge(value: unknown, at: string): GraphEdge {
  if (!isObject(value)) throw new NotAGraph(at);
  const { source, sourceHandle, target, targetHandle } = value;
  if (
    typeof source !== "string" ||
    typeof sourceHandle !== "string" ||
    typeof target !== "string" ||
    typeof targetHandle !== "string"
  ) {
    throw new NotAGraph(at);
  }
  return { ...value, source, sourceHandle, target, targetHandle };
}

/** Reads what a file or the server holds. Throws `NotAGraph` when it is something else. */
export function readDocument(value: unknown): GraphDocument {
  if (!isObject(value)) throw new NotAGraph("$");
  const level = readLevel(value, "");
  const doc: GraphDocument = {
    ...level,
    format_version: typeof value.format_version === "number" ? value.format_version : 1,
    name: typeof value.name === "string" ? value.name : "",
  };
  if (isObject(value.subgraphs)) {
    doc.subgraphs = Object.fromEntries(
      Object.entries(value.subgraphs).map(([name, inner]) => {
        if (!isObject(inner)) throw new NotAGraph(`subgraphs.${name}`);
        return [name, readLevel(inner, `subgraphs.${name}.`)];
      }),
    );
  }
  if (isObject(value.presets)) {
    // The server tells what is wrong with a preset; here it only must not be in the way.
    doc.presets = Object.fromEntries(
      Object.entries(value.presets).map(([name, inner]) => [name, presetLevel(name, inner)]),
    );
  }
  return doc;
}

function presetLevel(name: string, value: unknown): unknown {
  try {
    return isObject(value) ? readLevel(value, `presets.${name}.`) : value;
  } catch (problem) {
    if (problem instanceof NotAGraph) return value;
    throw problem;
  }
}
