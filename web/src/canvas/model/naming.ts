// Names that nothing else has.
import { findNode, type GraphDocument, levelOf, notesOf, type Scope } from "./document";

/** An id that no node of the level has: `conv2d`, `conv2d_2`, `conv2d_3` … */
export function freshId(
  doc: GraphDocument,
  scope: Scope,
  type: string,
  taken: { has(id: string): boolean } = NOTHING,
): string {
  const level = levelOf(doc, scope);
  const notes = notesOf(level);
  const stem = type
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
  return fresh(
    stem || "node",
    (id) => findNode(level, id) !== undefined || notes.some((note) => note.id === id) || taken.has(id),
  );
}

const NOTHING: ReadonlySet<string> = new Set();

/** `stem`, else `stem_2`, `stem_3` …: the first that is not taken. */
export function fresh(stem: string, taken: (name: string) => boolean): string {
  if (!taken(stem)) return stem;
  for (let count = 2; ; count += 1) {
    const name = `${stem}_${count}`;
    if (!taken(name)) return name;
  }
}
