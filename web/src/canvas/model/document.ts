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

export interface GraphDocument extends Level {
  format_version: number;
  name: string;
  description?: string;
  subgraphs?: Readonly<Record<string, Level>>;
  settings?: { device?: string | null; seed?: number | null; [key: string]: unknown };
}

/** Which level: `null` for the graph, else the name of a subgraph. */
export type Scope = string | null;

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
  return scope === null ? doc : (doc.subgraphs?.[scope] ?? EMPTY_LEVEL);
}

/** The document with other nodes or wires at one level. */
export function withLevel(doc: GraphDocument, scope: Scope, change: Partial<Level>): GraphDocument {
  if (scope === null) return { ...doc, ...change };
  const level = levelOf(doc, scope);
  return { ...doc, subgraphs: { ...doc.subgraphs, [scope]: { ...level, ...change } } };
}

export function findNode(level: Level, id: string): GraphNode | undefined {
  return level.nodes.find((node) => node.id === id);
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
  return doc;
}
