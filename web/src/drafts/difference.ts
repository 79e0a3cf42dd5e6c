// What two people did to one graph, as a list of changes that can be said in words.
import {
  edgeId,
  findNode,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  type Level,
  levelOf,
  presetScope,
  type Scope,
} from "../canvas/model/document";
import { isRecord, same } from "./same";

export type ChangeKind =
  | "nodeAdded"
  | "nodeRemoved"
  | "param"
  | "label"
  | "type"
  | "moved"
  | "data"
  | "wireAdded"
  | "wireRemoved"
  | "groupAdded"
  | "groupRemoved"
  | "groupChanged"
  | "setting"
  | "document";

export interface Change {
  kind: ChangeKind;
  scope: Scope;
  /** The node that it is about; of a wire the one that it leads to. */
  node: string | null;
  /** That node as it is, or was. */
  what: GraphNode | null;
  /** The parameter, the setting, the group, the ports of a wire … */
  name: string;
  before: unknown;
  after: unknown;
}

/** What to do to `before` so that it becomes `after`. Moves are told last. */
export function changesBetween(before: GraphDocument, after: GraphDocument): Change[] {
  const found: Change[] = [];
  for (const scope of scopesOf(before, after)) {
    if (scope !== null) {
      const [had, has] = [hasScope(before, scope), hasScope(after, scope)];
      if (!had || !has) {
        const kind = has ? "groupAdded" : "groupRemoved";
        found.push(change(kind, scope, null, scopeName(scope), undefined, undefined));
        continue;
      }
    }
    const [was, is] = [levelOf(before, scope), levelOf(after, scope)];
    if (was !== is) found.push(...changesOfLevel(scope, was, is));
  }
  for (const name of keysOf(before.settings, after.settings)) {
    const [was, is] = [before.settings?.[name] ?? null, after.settings?.[name] ?? null];
    if (!same(was, is)) found.push(change("setting", null, null, name, was, is));
  }
  for (const name of keysOf(before, after)) {
    if (PARTS.has(name) || same({ [name]: before[name] }, { [name]: after[name] })) continue;
    found.push(change("document", null, null, name, before[name], after[name]));
  }
  return [...found.filter(({ kind }) => kind !== "moved"), ...found.filter(({ kind }) => kind === "moved")];
}

/** Parts of a document that are compared one by one, and those that say nothing to a person. */
const PARTS = new Set([
  "nodes",
  "edges",
  "subgraphs",
  "presets",
  "settings",
  "format_version",
  "name",
  "viewport",
]);

function changesOfLevel(scope: Scope, before: Level, after: Level): Change[] {
  const found: Change[] = [];
  const was = new Map(before.nodes.map((node) => [node.id, node]));
  const is = new Map(after.nodes.map((node) => [node.id, node]));
  for (const [id, node] of is) {
    if (!was.has(id)) found.push(change("nodeAdded", scope, node, id, undefined, node));
  }
  for (const [id, node] of was) {
    const now = is.get(id);
    if (now === undefined) found.push(change("nodeRemoved", scope, node, id, node, undefined));
    else if (now !== node) found.push(...changesOfNode(scope, node, now));
  }
  const wires = new Map(before.edges.map((edge) => [edgeId(edge), edge]));
  const wiresNow = new Map(after.edges.map((edge) => [edgeId(edge), edge]));
  // A wire that came or went with its node is told by the node.
  for (const [id, edge] of wiresNow) {
    if (!wires.has(id)) found.push(wire("wireAdded", scope, edge, after));
  }
  for (const [id, edge] of wires) {
    if (!wiresNow.has(id) && is.has(edge.source) && is.has(edge.target)) {
      found.push(wire("wireRemoved", scope, edge, before));
    }
  }
  for (const key of keysOf(before, after)) {
    // Notes, frames, and what a group exposes.
    const kind = scope === null ? "document" : "groupChanged";
    if (!LEVEL_PARTS.has(key) && (scope !== null || key === "notes") && !same(before[key], after[key])) {
      found.push(change(kind, scope, null, scope === null ? key : scopeName(scope), before[key], after[key]));
    }
  }
  return scope === null ? found.filter(({ kind }) => kind !== "document") : found;
}

const LEVEL_PARTS = new Set(["nodes", "edges"]);

function changesOfNode(scope: Scope, before: GraphNode, after: GraphNode): Change[] {
  const found: Change[] = [];
  const say = (kind: ChangeKind, name: string, was: unknown, is: unknown) =>
    found.push(change(kind, scope, after, name, was, is));
  if (before.type !== after.type) say("type", "type", before.type, after.type);
  if ((before.data.label ?? "") !== (after.data.label ?? "")) {
    say("label", "label", before.data.label ?? "", after.data.label ?? "");
  }
  for (const name of keysOf(before.data.params, after.data.params)) {
    const [was, is] = [before.data.params[name], after.data.params[name]];
    if (!same(was, is)) say("param", name, was, is);
  }
  for (const name of keysOf(before.data, after.data)) {
    if (name !== "params" && name !== "label" && !same(before.data[name], after.data[name])) {
      say("data", name, before.data[name], after.data[name]);
    }
  }
  if (!same({ position: before.position }, { position: after.position })) {
    say("moved", "position", before.position, after.position);
  }
  return found;
}

function wire(kind: "wireAdded" | "wireRemoved", scope: Scope, edge: GraphEdge, level: Level): Change {
  const found = findNode(level, edge.target) ?? null;
  const text = kind === "wireAdded" ? { after: edge } : { before: edge };
  return {
    kind,
    scope,
    node: edge.target,
    what: found,
    name: edge.targetHandle,
    before: undefined,
    after: undefined,
    ...text,
  };
}

function change(
  kind: ChangeKind,
  scope: Scope,
  what: GraphNode | null,
  name: string,
  before: unknown,
  after: unknown,
): Change {
  return { kind, scope, node: what?.id ?? null, what, name, before, after };
}

function scopesOf(...docs: readonly GraphDocument[]): Scope[] {
  const subgraphs = docs.flatMap((doc) => Object.keys(doc.subgraphs ?? {}));
  const presets = docs.flatMap((doc) => Object.keys(doc.presets ?? {}).map(presetScope));
  return [null, ...new Set([...subgraphs, ...presets])];
}

function hasScope(doc: GraphDocument, scope: string): boolean {
  const name = scopeName(scope);
  const group = scope === name ? doc.subgraphs : doc.presets;
  return isRecord(group) && Object.hasOwn(group, name);
}

/** The name of a subgraph or preset without the mark of its kind. */
export function scopeName(scope: string): string {
  const mark = presetScope("");
  return scope.startsWith(mark) ? scope.slice(mark.length) : scope;
}

function keysOf(...values: readonly unknown[]): string[] {
  return [...new Set(values.flatMap((value) => (isRecord(value) ? Object.keys(value) : [])))];
}

/** What two versions of a graph have against each other, seen from the version that both began with, if it is known. */
export interface Difference {
  mine: readonly Change[];
  theirs: readonly Change[];
  /** Changes from theirs to mine: all there is to tell when the beginning is not known. */
  between: readonly Change[];
  /** How many nodes are not alike. */
  nodes: number;
}

export function differenceOf(
  base: GraphDocument | null,
  mine: GraphDocument,
  theirs: GraphDocument,
): Difference {
  const between = changesBetween(theirs, mine);
  const nodes = new Set(
    between.filter((one) => one.node !== null).map((one) => JSON.stringify([one.scope, one.node])),
  );
  return {
    mine: base === null ? [] : changesBetween(base, mine),
    theirs: base === null ? [] : changesBetween(base, theirs),
    between,
    nodes: nodes.size,
  };
}
