// Finding a node type by a few letters, and what fits a wire in hand.
import type { NodeDefinition } from "../../api/types";
import { fits } from "./catalog";

/** A wire that is being drawn: its free end is to meet a port of `type`. */
export interface WireInHand {
  node: string;
  port: string;
  type: string;
  /** The wire comes out of this port, or it goes into it. */
  end: "source" | "target";
}

export interface Found {
  definition: NodeDefinition;
  /** The port that would be wired. */
  port: string | null;
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

function rank(definition: NodeDefinition, query: string): number {
  return Math.max(
    score(definition.title, query),
    score(definition.type, query),
    definition.summary.toLowerCase().includes(query.toLowerCase().trim()) ? 5 : 0,
    score(definition.category, query) >= 25 ? 10 : 0,
  );
}

/** The port of a new node that the wire would meet. */
export function fittingPort(definition: NodeDefinition, wire: WireInHand): string | null {
  if (wire.end === "source") {
    return definition.inputs.find((port) => fits(wire.type, port.type))?.name ?? null;
  }
  return definition.outputs.find((port) => fits(port.type, wire.type))?.name ?? null;
}

/** Types that may stand at this level, best first; inside a module only layers. */
export function search(
  definitions: readonly NodeDefinition[],
  query: string,
  wire: WireInHand | null,
  insideModule: boolean,
): { fitting: Found[]; others: Found[] } {
  const found = definitions
    .filter((definition) => placeable(definition, insideModule))
    .map((definition) => ({ definition, rank: rank(definition, query) }))
    .filter((entry) => entry.rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .map(({ definition }) => ({
      definition,
      port: wire === null ? null : fittingPort(definition, wire),
    }));
  if (wire === null) return { fitting: found, others: [] };
  return {
    fitting: found.filter((entry) => entry.port !== null),
    others: found.filter((entry) => entry.port === null),
  };
}

/** Whether a type may stand at the graph's own level, or inside a module. */
export function placeable(definition: NodeDefinition, insideModule: boolean): boolean {
  return insideModule === (definition.layer ?? false);
}

/** Types by category, in the order of their first one. */
export function byCategory(found: readonly Found[]): [string, Found[]][] {
  const groups = new Map<string, Found[]>();
  for (const entry of found) {
    const group = groups.get(entry.definition.category);
    if (group) group.push(entry);
    else groups.set(entry.definition.category, [entry]);
  }
  return [...groups];
}
