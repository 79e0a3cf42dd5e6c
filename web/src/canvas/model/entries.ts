// What can be added to a graph: the installed node types, the presets of the document, and those kept on the server.
import type { NodeDefinition } from "../../api/types";
import type { Catalog } from "./catalog";
import { findLevel, type GraphDocument, isGroup, presetScope, type Scope, scopeBehind } from "./document";
import { exposed, type Types, typesOf } from "./types";

export interface Entry {
  /** Names it among all entries. */
  id: string;
  definition: NodeDefinition;
  params: Readonly<Record<string, unknown>>;
  /** Set for a preset that the document may not have: a graph with it. */
  brings: GraphDocument | null;
}

/** A preset that is kept outside of documents. `graph` holds it among its `presets`, with all that it needs. */
export interface KeptPreset {
  name: string;
  summary: string;
  graph: GraphDocument;
}

export const PRESETS = "presets";

/** All that can be added to a level of the document; a group cannot be put into itself. */
export function entriesOf(
  doc: GraphDocument,
  scope: Scope,
  catalog: Catalog,
  kept: readonly KeptPreset[] = [],
): Entry[] {
  const types = typesOf(doc, catalog);
  const base = catalog.get("Preset");
  const entries: Entry[] = [];
  const names = new Set<string>();
  if (base !== undefined) {
    for (const name of Object.keys(doc.presets ?? {})) {
      if (holds(doc, presetScope(name), scope)) continue;
      const entry = presetEntry(doc, name, base, types, "", null);
      if (entry === null) continue;
      names.add(name);
      entries.push(entry);
    }
    for (const preset of kept) {
      if (names.has(preset.name)) continue;
      const own = typesOf(preset.graph, catalog);
      const entry = presetEntry(preset.graph, preset.name, base, own, preset.summary, preset.graph);
      if (entry !== null) entries.push(entry);
    }
  }
  for (const definition of catalog.values()) {
    // By themselves these stand for nothing.
    if (definition.type === "Preset" || definition.type === "Subgraph") continue;
    entries.push({ id: definition.type, definition, params: {}, brings: null });
  }
  return entries;
}

function presetEntry(
  doc: GraphDocument,
  name: string,
  base: NodeDefinition,
  types: Types,
  summary: string,
  brings: GraphDocument | null,
): Entry | null {
  const level = findLevel(doc, presetScope(name));
  if (level === undefined) return null;
  const shown = exposed(level, (node) => types.of(node));
  const layers = level.nodes.every((node) => isGroup(node) || types.of(node)?.layer === true);
  return {
    id: `preset:${name}`,
    definition: {
      ...base,
      title: name,
      category: PRESETS,
      summary: summary || (typeof level.description === "string" ? level.description : base.summary),
      layer: layers,
      ...shown,
    },
    params: { preset: name },
    brings,
  };
}

/** Whether `inner` is `outer`, or stands somewhere inside it. */
function holds(doc: GraphDocument, outer: string, inner: Scope): boolean {
  if (inner === null) return false;
  const seen = new Set<string>();
  const open = [outer];
  for (let scope = open.pop(); scope !== undefined; scope = open.pop()) {
    if (scope === inner) return true;
    if (seen.has(scope)) continue;
    seen.add(scope);
    for (const node of findLevel(doc, scope)?.nodes ?? []) {
      const behind = scopeBehind(node);
      if (behind !== null) open.push(behind);
    }
  }
  return false;
}
