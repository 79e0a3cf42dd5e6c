// Groups: some nodes become one node, a group becomes its nodes again, a group becomes a preset.
import type { Command } from "./commands";
import { bringLevels, copyOf, renameIn } from "./copying";
import {
  findLevel,
  findNode,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  isGroup,
  type Level,
  levelOf,
  notesOf,
  type Point,
  presetIn,
  presetScope,
  type Scope,
  scopeBehind,
} from "./document";
import { type ExposedPort, interfaceOf } from "./interface";
import { fresh, freshId } from "./naming";
import type { Types } from "./types";

export interface Grouped {
  command: Command;
  /** The new node. */
  id: string;
  name: string;
}

/** Types that mark the ends of a module: they cannot leave it. */
const ENDS: ReadonlySet<string> = new Set(["ModuleInput", "ModuleOutput"]);

export function groupable(level: Level, ids: readonly string[]): boolean {
  const nodes = level.nodes.filter((node) => ids.includes(node.id));
  return nodes.length > 0 && nodes.every((node) => !ENDS.has(node.type)) && !detours(level, new Set(ids));
}

/** Whether a path leaves the nodes and comes back: as one node they would close a circle. */
function detours(level: Level, ids: ReadonlySet<string>): boolean {
  const next = new Map<string, string[]>();
  for (const edge of level.edges) next.set(edge.source, [...(next.get(edge.source) ?? []), edge.target]);
  const open = level.edges
    .filter((edge) => ids.has(edge.source) && !ids.has(edge.target))
    .map((e) => e.target);
  const seen = new Set(open);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const target of next.get(id) ?? []) {
      if (ids.has(target)) return true;
      if (!seen.has(target)) {
        seen.add(target);
        open.push(target);
      }
    }
  }
  return false;
}

/** Put some nodes into a subgraph of their own, with one node in their place and the wires as they were. */
export function group(
  doc: GraphDocument,
  scope: Scope,
  types: Types,
  ids: readonly string[],
  stem: string,
): Grouped {
  const level = levelOf(doc, scope);
  const inside = new Set(ids);
  const nodes = level.nodes.filter((node) => inside.has(node.id));
  const notes = notesOf(level).filter((note) => inside.has(note.id));
  const name = fresh(stem, (candidate) => findLevel(doc, candidate) !== undefined);
  const id = freshId(doc, scope, stem);
  const outer: GraphEdge[] = [];
  const names = new Set<string>();
  const inputs: ExposedPort[] = [];
  const outputs: ExposedPort[] = [];
  const expose = (side: ExposedPort[], node: string, port: string, as?: string) => {
    const called = as ?? fresh(port, (candidate) => names.has(`${side === inputs ? "<" : ">"}${candidate}`));
    names.add(`${side === inputs ? "<" : ">"}${called}`);
    side.push({ name: called, node, port });
    return called;
  };
  // Several inner inputs that one wire's source feeds are one input outside.
  const bySource = new Map<string, string>();
  for (const node of nodes) {
    for (const port of types.of(node)?.inputs ?? []) {
      const edge = level.edges.find((wire) => wire.target === node.id && wire.targetHandle === port.name);
      if (edge === undefined) {
        if (port.required !== false) expose(inputs, node.id, port.name);
      } else if (!inside.has(edge.source)) {
        const source = `${edge.source}.${edge.sourceHandle}`;
        const known = bySource.get(source);
        const called = expose(inputs, node.id, port.name, known);
        if (known !== undefined) continue;
        bySource.set(source, called);
        outer.push({
          source: edge.source,
          sourceHandle: edge.sourceHandle,
          target: id,
          targetHandle: called,
        });
      }
    }
    for (const port of types.of(node)?.outputs ?? []) {
      const leaving = level.edges.filter(
        (wire) => wire.source === node.id && wire.sourceHandle === port.name && !inside.has(wire.target),
      );
      const within = level.edges.some(
        (wire) => wire.source === node.id && wire.sourceHandle === port.name && inside.has(wire.target),
      );
      if (leaving.length === 0 && within) continue;
      const called = expose(outputs, node.id, port.name);
      for (const wire of leaving) {
        outer.push({
          source: id,
          sourceHandle: called,
          target: wire.target,
          targetHandle: wire.targetHandle,
        });
      }
    }
  }
  const inner: Level = {
    nodes,
    edges: level.edges.filter((edge) => inside.has(edge.source) && inside.has(edge.target)),
    ...(notes.length > 0 ? { notes } : {}),
    inputs,
    outputs,
    params: [],
  };
  const node: GraphNode = {
    id,
    type: "Subgraph",
    position: middle(nodes),
    data: { params: { subgraph: name } },
  };
  return {
    id,
    name,
    command: {
      do: "all",
      commands: [
        { do: "level", scope: name, level: inner },
        { do: "remove", scope, nodes: ids, edges: [] },
        { do: "add", scope, nodes: [node], edges: outer },
      ],
    },
  };
}

function middle(nodes: readonly GraphNode[]): Point {
  const xs = nodes.map((node) => node.position.x);
  const ys = nodes.map((node) => node.position.y);
  return {
    x: Math.round((Math.min(...xs) + Math.max(...xs)) / 2),
    y: Math.round((Math.min(...ys) + Math.max(...ys)) / 2),
  };
}

/** Put the nodes of a group where it stands. `null` when there is no such group. */
export function ungroup(
  doc: GraphDocument,
  scope: Scope,
  id: string,
): { command: Command; ids: string[] } | null {
  const level = levelOf(doc, scope);
  const node = findNode(level, id);
  if (node === undefined || !isGroup(node)) return null;
  const behind = scopeBehind(node);
  const inner = behind === null ? undefined : findLevel(doc, behind);
  if (behind === null || inner === undefined) return null;
  const { inputs, outputs, params } = interfaceOf(inner);
  const commands: Command[] = [{ do: "remove", scope, nodes: [id], edges: [] }];
  const last = presetIn(behind) === null && !usedElsewhere(doc, behind, scope, id);
  // A second group of the same subgraph keeps its inside, so these need one of their own.
  const renamed = last
    ? new Map<string, string>()
    : bringLevels(
        doc,
        copyOf(
          doc,
          behind,
          inner.nodes.map((one) => one.id),
        ),
        commands,
      );
  const ids = new Map<string, string>();
  const taken = { has: (candidate: string) => [...ids.values()].includes(candidate) };
  const corner = middle(inner.nodes.length > 0 ? inner.nodes : [node]);
  const shift = (position: Point): Point => ({
    ...position,
    x: Math.round(position.x - corner.x + node.position.x),
    y: Math.round(position.y - corner.y + node.position.y),
  });
  const nodes = inner.nodes.map((one): GraphNode => {
    const freed = freshId(doc, scope, one.type, taken);
    ids.set(one.id, freed);
    const given = params.filter((item) => item.node === one.id && node.data.params[item.name] !== undefined);
    const values = Object.fromEntries(given.map((item) => [item.param, node.data.params[item.name]]));
    const copy = renameIn(one, renamed);
    return {
      ...copy,
      id: freed,
      position: shift(one.position),
      data: { ...copy.data, params: { ...copy.data.params, ...values } },
    };
  });
  const notes = notesOf(inner).map((note) => {
    const freed = freshId(doc, scope, note.kind, taken);
    ids.set(note.id, freed);
    return { ...note, id: freed, position: shift(note.position) };
  });
  const edges: GraphEdge[] = inner.edges.flatMap((edge) => {
    const source = ids.get(edge.source);
    const target = ids.get(edge.target);
    const { id: _, ...rest } = edge;
    return source === undefined || target === undefined ? [] : [{ ...rest, source, target }];
  });
  const sourceOf = (edge: GraphEdge) => {
    if (edge.source !== id) return { source: edge.source, sourceHandle: edge.sourceHandle };
    const item = outputs.find((one) => one.name === edge.sourceHandle);
    const freed = item && ids.get(item.node);
    return item === undefined || freed === undefined ? null : { source: freed, sourceHandle: item.port };
  };
  for (const edge of level.edges) {
    if (edge.source !== id && edge.target !== id) continue;
    const from = sourceOf(edge);
    if (from === null) continue;
    if (edge.target !== id) {
      edges.push({ ...from, target: edge.target, targetHandle: edge.targetHandle });
      continue;
    }
    for (const item of inputs.filter((one) => one.name === edge.targetHandle)) {
      const freed = ids.get(item.node);
      if (freed !== undefined) edges.push({ ...from, target: freed, targetHandle: item.port });
    }
  }
  if (last) commands.push({ do: "level", scope: behind, level: null });
  commands.push({ do: "add", scope, nodes, edges, notes });
  return { command: { do: "all", commands }, ids: [...ids.values()] };
}

/** Whether another node than this one stands for the level. */
function usedElsewhere(doc: GraphDocument, behind: string, scope: Scope, id: string): boolean {
  const levels: (readonly [Scope, Level])[] = [
    [null, doc],
    ...Object.entries(doc.subgraphs ?? {}),
    ...Object.keys(doc.presets ?? {}).map(
      (name) => [presetScope(name), levelOf(doc, presetScope(name))] as const,
    ),
  ];
  return levels.some(([at, level]) =>
    level.nodes.some((node) => scopeBehind(node) === behind && !(at === scope && node.id === id)),
  );
}

/** Make a preset of a group, and the group an instance of it. `null` when there is no such group. */
export function toPreset(
  doc: GraphDocument,
  scope: Scope,
  id: string,
  name: string,
): { command: Command } | null {
  const node = findNode(levelOf(doc, scope), id);
  const behind = node === undefined ? null : scopeBehind(node);
  const inner = behind === null ? undefined : findLevel(doc, behind);
  if (node?.type !== "Subgraph" || behind === null || inner === undefined) return null;
  const { subgraph: _, ...given } = node.data.params;
  const instance: GraphNode = {
    ...node,
    type: "Preset",
    data: { ...node.data, params: { ...given, preset: name } },
  };
  const commands: Command[] = [{ do: "level", scope: presetScope(name), level: inner }];
  if (!usedElsewhere(doc, behind, scope, id)) commands.push({ do: "level", scope: behind, level: null });
  commands.push({ do: "swap", scope, node: instance });
  return { command: { do: "all", commands } };
}
