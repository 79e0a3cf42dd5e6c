// What an opened graph begins with: of the saved file, the draft, the example and what this browser kept, which one is in
// front, and whether two of them are at odds.
import { emptyDocument, type GraphDocument } from "../canvas/model/document";
import type { Mirrored } from "./mirror";
import { same } from "./same";

export interface Versioned {
  doc: GraphDocument;
  revision: number;
}

export interface Found {
  saved: Versioned | null;
  draft: (Versioned & { graphRevision: number }) | null;
  example: GraphDocument | null;
  /** Unsaved in this browser. */
  mirrored: Mirrored | null;
}

/** Two versions that nobody has decided between. */
export interface Conflict {
  /** `null`: it was deleted. */
  theirs: GraphDocument | null;
  /** The revision of theirs; 0 when it was deleted. */
  revision: number;
  /** The revision that mine was edited from; 0 for none. */
  from: number;
  /** What both began with, if it is known. */
  base: GraphDocument | null;
  /** Revision of my version, kept as a draft on the server; `null` when only this browser has it. */
  draft: number | null;
}

export interface Start {
  doc: GraphDocument;
  /** The document as the server has it; `null` when it has none. */
  base: GraphDocument | null;
  /** Of the file or the draft, whichever it is kept in. */
  revision: number | null;
  shelf: "graph" | "draft";
  conflict: Conflict | null;
  /** When what was found unsaved in this browser was changed last, in Unix seconds. */
  restoredFrom: number | null;
  /** The draft on the server says nothing that the file does not. */
  dropDraft: boolean;
}

const UNTITLED = /^untitled(-\d+)?$/;

/** Whether nobody has given the graph a name yet. */
export function isUntitled(name: string): boolean {
  return UNTITLED.test(name);
}

export function untitledName(taken: readonly string[]): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? "untitled" : `untitled-${count}`;
    if (!taken.includes(name)) return name;
  }
}

export function startWith(name: string, found: Found): Start {
  const { saved, draft, example, mirrored } = found;
  const start: Start = {
    doc: saved?.doc ?? draft?.doc ?? example ?? emptyDocument(name),
    base: saved?.doc ?? draft?.doc ?? null,
    revision: saved?.revision ?? draft?.revision ?? null,
    shelf: saved === null && (draft !== null || isUntitled(name)) ? "draft" : "graph",
    conflict: null,
    restoredFrom: null,
    dropDraft: false,
  };
  if (mirrored !== null && !same(mirrored.doc, start.doc)) {
    const follows =
      (mirrored.revision === start.revision && mirrored.shelf === start.shelf) ||
      (mirrored.base !== null && start.base !== null && same(mirrored.base, start.base));
    const at = { ...start, doc: mirrored.doc, restoredFrom: mirrored.at };
    if (follows) return at;
    // Nothing is there that it could be at odds with: it was never saved, or it was deleted.
    if (start.base === null && mirrored.revision === null) return at;
    const conflict = {
      theirs: start.base,
      revision: start.revision ?? 0,
      from: mirrored.revision ?? 0,
      base: mirrored.base,
      draft: saved !== null ? (draft?.revision ?? null) : null,
    };
    return { ...at, conflict };
  }
  if (saved !== null && draft !== null) {
    if (same(saved.doc, draft.doc)) return { ...start, dropDraft: true };
    const conflict = {
      theirs: saved.doc,
      revision: saved.revision,
      from: draft.graphRevision,
      base: null,
      draft: draft.revision,
    };
    return { ...start, doc: draft.doc, conflict };
  }
  return start;
}
