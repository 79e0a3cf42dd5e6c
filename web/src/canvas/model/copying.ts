// Copies: taken out of a graph as a graph of their own, and put into one with fresh ids. What is on the clipboard is such a
// graph, so it can be pasted into another graph, another browser tab, or a file.
import type { Command } from "./commands";
import {
  findLevel,
  type GraphDocument,
  type GraphNode,
  isNote,
  type Level,
  levelOf,
  notesOf,
  type Point,
  presetIn,
  presetScope,
  type Scope,
  scopeBehind,
} from "./document";
import { fresh, freshId } from "./naming";

export interface Pasted {
  command: Command;
  /** Ids of the new nodes and notes. */
  ids: string[];
}

/** Some nodes and notes of a level with the wires among them, and all levels that they need. */
export function copyOf(doc: GraphDocument, scope: Scope, ids: readonly string[]): GraphDocument {
  const wanted = new Set(ids);
  const level = levelOf(doc, scope);
  const copy: GraphDocument = {
    format_version: doc.format_version,
    name: doc.name,
    nodes: level.nodes.filter((node) => wanted.has(node.id)),
    edges: level.edges.filter((edge) => wanted.has(edge.source) && wanted.has(edge.target)),
  };
  const notes = notesOf(level).filter((note) => wanted.has(note.id));
  if (notes.length > 0) copy.notes = notes;
  const subgraphs: Record<string, Level> = {};
  const presets: Record<string, unknown> = {};
  for (const needed of levelsBehind(doc, copy.nodes)) {
    const preset = presetIn(needed);
    if (preset === null) subgraphs[needed] = levelOf(doc, needed);
    else presets[preset] = levelOf(doc, needed);
  }
  if (Object.keys(subgraphs).length > 0) copy.subgraphs = subgraphs;
  if (Object.keys(presets).length > 0) copy.presets = presets;
  return copy;
}

/** Names of all levels that some nodes stand for, those within those too. */
export function levelsBehind(doc: GraphDocument, nodes: readonly GraphNode[]): Set<string> {
  const found = new Set<string>();
  const open = [...nodes];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const scope of namedBy(node)) {
      const level = found.has(scope) ? undefined : findLevel(doc, scope);
      if (level === undefined) continue;
      found.add(scope);
      open.push(...level.nodes);
    }
  }
  return found;
}

/** Levels that a node names: what it stands for, and what it executes by itself. */
function namedBy(node: GraphNode): string[] {
  const behind = scopeBehind(node);
  const executed = node.data.params.preset;
  const names = behind === null ? [] : [behind];
  if (node.type !== "Preset" && typeof executed === "string" && executed !== "") {
    names.push(presetScope(executed));
  }
  return names;
}

/** Put a copied graph into a level, its corner moved by `by`. Modules and groups get an inside of their own. */
export function pasteOf(doc: GraphDocument, scope: Scope, copy: GraphDocument, by: Point): Pasted {
  const commands: Command[] = [];
  const renamed = bringLevels(doc, copy, commands);
  const ids = new Map<string, string>();
  const taken = { has: (id: string) => [...ids.values()].includes(id) };
  const moved = (position: Point): Point => ({
    ...position,
    x: Math.round(position.x + by.x),
    y: Math.round(position.y + by.y),
  });
  const nodes = copy.nodes.map((node) => {
    const id = freshId(doc, scope, node.type, taken);
    ids.set(node.id, id);
    return { ...renameIn(node, renamed), id, position: moved(node.position) };
  });
  const notes = notesOf(copy).map((note) => {
    const id = freshId(doc, scope, note.kind, taken);
    ids.set(note.id, id);
    return { ...note, id, position: moved(note.position) };
  });
  const edges = copy.edges.flatMap((edge) => {
    const source = ids.get(edge.source);
    const target = ids.get(edge.target);
    if (source === undefined || target === undefined) return [];
    const { id: _, ...rest } = edge;
    return [{ ...rest, source, target }];
  });
  commands.push({ do: "add", scope, nodes, edges, notes });
  return { command: { do: "all", commands }, ids: [...ids.values()] };
}

/** Copies beside the originals. */
export function duplicate(doc: GraphDocument, scope: Scope, ids: readonly string[], offset: Point): Pasted {
  return pasteOf(doc, scope, copyOf(doc, scope, ids), offset);
}

/**
 * Brings the levels of a copy into the document; the answer is scope before → scope after. A preset, and a block that
 * Submodules share, is taken from the document when it is there and the same; anything else gets a name of its own.
 */
export function bringLevels(
  doc: GraphDocument,
  copy: GraphDocument,
  commands: Command[],
): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  const needed = levelsBehind(copy, copy.nodes);
  const shared = sharedScopes(copy, needed);
  const names = new Set<string>();
  for (const scope of needed) {
    const preset = presetIn(scope);
    const there = findLevel(doc, scope);
    const same = there !== undefined && sameJson(there, levelOf(copy, scope));
    if (shared.has(scope) && same && unchangedBehind(doc, copy, scope)) continue;
    const free = (name: string) => {
      const candidate = preset === null ? name : presetScope(name);
      return findLevel(doc, candidate) === undefined && !names.has(candidate);
    };
    const name = fresh(preset ?? scope, (candidate) => !free(candidate));
    const after = preset === null ? name : presetScope(name);
    names.add(after);
    if (after !== scope) renamed.set(scope, after);
    else renamed.set(scope, scope);
  }
  for (const [before, after] of renamed) {
    const level = levelOf(copy, before);
    const nodes = level.nodes.map((node) => renameIn(node, renamed));
    commands.push({ do: "level", scope: after, level: { ...level, nodes } });
  }
  return renamed;
}

/** Levels that stand for one thing however often they are used: presets, and the blocks of Submodules. */
function sharedScopes(copy: GraphDocument, needed: ReadonlySet<string>): Set<string> {
  const shared = new Set<string>();
  const look = (node: GraphNode) => {
    const scope = scopeBehind(node);
    if (scope !== null && node.type === "Submodule") shared.add(scope);
  };
  copy.nodes.forEach(look);
  for (const scope of needed) {
    if (presetIn(scope) !== null) shared.add(scope);
    levelOf(copy, scope).nodes.forEach(look);
  }
  return shared;
}

/** Whether everything inside is the same in both documents. */
function unchangedBehind(doc: GraphDocument, copy: GraphDocument, scope: string): boolean {
  return [...levelsBehind(copy, levelOf(copy, scope).nodes)].every((inner) =>
    sameJson(findLevel(doc, inner), levelOf(copy, inner)),
  );
}

/** The node with the levels that it names called by their new names. */
export function renameIn(node: GraphNode, renamed: ReadonlyMap<string, string>): GraphNode {
  const params = { ...node.data.params };
  let changed = false;
  for (const scope of namedBy(node)) {
    const after = renamed.get(scope);
    if (after === undefined || after === scope) continue;
    const preset = presetIn(after);
    if (preset === null) params.subgraph = after;
    else params.preset = preset;
    changed = true;
  }
  return changed ? { ...node, data: { ...node.data, params } } : node;
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The server writes keys in an order of its own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** The left upper corner of what a copy holds. */
export function cornerOf(copy: GraphDocument): Point {
  const all = [...copy.nodes, ...(Array.isArray(copy.notes) ? copy.notes.filter(isNote) : [])];
  return {
    x: Math.min(...all.map((item) => item.position.x)),
    y: Math.min(...all.map((item) => item.position.y)),
  };
}
