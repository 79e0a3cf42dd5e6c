// Finding a node to add by a few letters, and what fits a wire in hand.
import type { NodeDefinition } from "../../api/types";
import { fits } from "./catalog";
import type { Entry } from "./entries";

/** A wire that is being drawn: its free end is to meet a port of `type`. */
export interface WireInHand {
  node: string;
  port: string;
  type: string;
  /** The wire comes out of this port, or it goes into it. */
  end: "source" | "target";
}

export interface Found {
  entry: Entry;
  definition: NodeDefinition;
  /** The ports that the wire could meet, the likeliest first. */
  ports: readonly string[];
}

/** How well `text` answers to `query`, 0 for not at all. */
export function score(text: string, query: string): number {
  const hay = text.toLowerCase();
  const needle = query.toLowerCase().trim();
  if (needle === "") return 1;
  if (hay === needle) return 100;
  if (hay.startsWith(needle)) return 60;
  const at = hay.indexOf(needle);
  if (at > 0) return hay[at - 1] === " " ? 40 : 25;
  // Letters in order: "bn2" finds "BatchNorm2d".
  let from = 0;
  for (const letter of needle) {
    const found = hay.indexOf(letter, from);
    if (found < 0) return 0;
    from = found + 1;
  }
  return 8;
}

/** `words` are what the page shows of it, in its language. */
function rank(definition: NodeDefinition, query: string, words: string): number {
  const needle = query.toLowerCase().trim();
  return Math.max(
    score(definition.title, query),
    score(definition.type, query),
    definition.summary.toLowerCase().includes(needle) || words.toLowerCase().includes(needle) ? 5 : 0,
    score(definition.category, query) >= 25 ? 10 : 0,
  );
}

/** The ports of a new node that the wire could meet: those of its very type first, then those that take anything. */
export function fittingPorts(definition: NodeDefinition, wire: WireInHand): string[] {
  const ports =
    wire.end === "source"
      ? definition.inputs.filter((port) => fits(wire.type, port.type))
      : definition.outputs.filter((port) => fits(port.type, wire.type));
  const exact = (port: { type: string }) => (port.type === wire.type ? 0 : 1);
  return [...ports].sort((a, b) => exact(a) - exact(b)).map((port) => port.name);
}

/** What may stand at this level, best first; with a wire in hand in two parts. */
export function search(
  entries: readonly Entry[],
  query: string,
  wire: WireInHand | null,
  insideModule: boolean,
  words: (definition: NodeDefinition) => string = () => "",
): { fitting: Found[]; others: Found[] } {
  const found = entries
    .filter(({ definition }) => placeable(definition, insideModule))
    .map((entry) => ({ entry, rank: rank(entry.definition, query, words(entry.definition)) }))
    .filter((item) => item.rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .map(({ entry }) => ({
      entry,
      definition: entry.definition,
      ports: wire === null ? [] : fittingPorts(entry.definition, wire),
    }));
  if (wire === null) return { fitting: found, others: [] };
  return {
    fitting: found.filter((item) => item.ports.length > 0),
    others: found.filter((item) => item.ports.length === 0),
  };
}

/** Marks of a module's ends: they stand inside one only. */
const INSIDE_ONLY: ReadonlySet<string> = new Set(["ModuleInput", "ModuleOutput"]);

/** Whether a type may stand at the graph's own level, or inside a module, where only layers may. */
export function placeable(definition: NodeDefinition, insideModule: boolean): boolean {
  return insideModule ? (definition.layer ?? false) : !INSIDE_ONLY.has(definition.type);
}

/** By category, in the order of their first one. */
export function byCategory(found: readonly Found[]): [string, Found[]][] {
  const groups = new Map<string, Found[]>();
  for (const item of found) {
    const group = groups.get(item.definition.category);
    if (group) group.push(item);
    else groups.set(item.definition.category, [item]);
  }
  return [...groups];
}
