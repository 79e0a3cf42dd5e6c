// Which wires may be drawn, and why others may not.
import { fits, inputOf, outputOf } from "./catalog";
import { findNode, type GraphEdge, type Level } from "./document";
import type { Types } from "./types";

export interface Refusal {
  /** Key of the sentence in the canvas' words. */
  reason: "unknownPort" | "wrongType" | "sameNode" | "cycle";
  params: Record<string, string>;
}

/** `null` when the wire may be drawn, else why not. */
export function refuses(level: Level, types: Types, edge: GraphEdge): Refusal | null {
  if (edge.source === edge.target) return { reason: "sameNode", params: {} };
  const source = findNode(level, edge.source);
  const target = findNode(level, edge.target);
  const from = outputOf(source && types.of(source), edge.sourceHandle);
  const to = inputOf(target && types.of(target), edge.targetHandle);
  if (source === undefined || target === undefined || from === undefined || to === undefined) {
    return { reason: "unknownPort", params: {} };
  }
  if (!fits(from.type, to.type)) {
    return {
      reason: "wrongType",
      params: {
        title: target.data.label ?? types.of(target)?.title ?? target.type,
        port: to.name.replaceAll("_", " "),
        takes: to.type,
        gives: from.type,
      },
    };
  }
  if (reaches(level, edge.target, edge.source)) return { reason: "cycle", params: {} };
  return null;
}

/** Whether a path of wires leads from one node to another. */
export function reaches(level: Level, from: string, to: string): boolean {
  const next = new Map<string, string[]>();
  for (const edge of level.edges) {
    const targets = next.get(edge.source);
    if (targets) targets.push(edge.target);
    else next.set(edge.source, [edge.target]);
  }
  const seen = new Set<string>([from]);
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true;
    for (const target of next.get(id) ?? []) {
      if (!seen.has(target)) {
        seen.add(target);
        open.push(target);
      }
    }
  }
  return false;
}

/** The node and all that it depends on. */
export function neededBy(level: Level, id: string): Set<string> {
  const before = new Map<string, string[]>();
  for (const edge of level.edges) before.set(edge.target, [...(before.get(edge.target) ?? []), edge.source]);
  const needed = new Set([id]);
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const source of before.get(next) ?? []) {
      if (needed.has(source)) continue;
      needed.add(source);
      open.push(source);
    }
  }
  return needed;
}

/** Ids in an order in which every node comes after those it depends on; nodes of a cycle come last. */
export function inOrder(level: Level): string[] {
  const waiting = new Map(level.nodes.map((node) => [node.id, 0]));
  const next = new Map<string, string[]>();
  for (const edge of level.edges) {
    if (!waiting.has(edge.source) || !waiting.has(edge.target)) continue;
    waiting.set(edge.target, (waiting.get(edge.target) ?? 0) + 1);
    next.set(edge.source, [...(next.get(edge.source) ?? []), edge.target]);
  }
  const order: string[] = [];
  const done = new Set<string>();
  const ready = level.nodes.filter((node) => waiting.get(node.id) === 0).map((node) => node.id);
  while (ready.length > 0) {
    const id = ready.shift() as string;
    order.push(id);
    done.add(id);
    for (const target of next.get(id) ?? []) {
      const left = (waiting.get(target) ?? 0) - 1;
      waiting.set(target, left);
      if (left === 0) ready.push(target);
    }
  }
  return [...order, ...level.nodes.filter((node) => !done.has(node.id)).map((node) => node.id)];
}
