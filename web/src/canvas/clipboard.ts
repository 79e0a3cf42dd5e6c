// The system's clipboard holds a part of a graph as a graph file: it can be pasted into another graph, another tab of the
// browser, or an editor of text.
import { copyOf, cornerOf, pasteOf } from "./model/copying";
import { type GraphDocument, NotAGraph, notesOf, type Point, readDocument } from "./model/document";
import { placeable } from "./model/search";
import { typesOf } from "./model/types";
import { clear } from "./placing";
import type { Editor } from "./store/editor";
import { currentLevel, documentOf, type GraphStore, insideModule, scopeOf } from "./store/graph-store";

/** More than any graph that people copy by hand. */
const MOST_CHARACTERS = 20_000_000;

/** Why a text cannot be pasted: a key of the editor's words, with what it speaks of. */
export class CannotPaste extends Error {
  readonly reason: "empty" | "notAGraph" | "tooLong" | "notHere";
  readonly params: Record<string, string>;

  constructor(reason: CannotPaste["reason"], params: Record<string, string> = {}) {
    super(reason);
    this.name = "CannotPaste";
    this.reason = reason;
    this.params = params;
  }
}

/** What is selected, as the text of a graph file; `null` when nothing is. */
export function copiedText(store: GraphStore): string | null {
  const state = store.getState();
  if (state.selection.length === 0) return null;
  const copy = copyOf(documentOf(state), scopeOf(state), state.selection);
  return JSON.stringify(copy, null, 2);
}

/** Puts a copied part of a graph with its corner at `at`, and selects it. Throws `CannotPaste`. */
export function paste({ store, catalog }: Editor, text: string, at: Point | null): void {
  const copy = readCopy(text);
  const state = store.getState();
  const types = typesOf(copy, catalog);
  if (insideModule(state)) {
    const stranger = copy.nodes.find((node) => {
      const definition = types.of(node);
      return definition !== undefined && !placeable(definition, true);
    });
    if (stranger !== undefined) {
      throw new CannotPaste("notHere", { title: types.of(stranger)?.title ?? stranger.type });
    }
  }
  const corner = cornerOf(copy);
  const level = currentLevel(state);
  const free = clear([...level.nodes, ...notesOf(level)], at ?? { x: corner.x + 32, y: corner.y + 32 });
  const made = pasteOf(documentOf(state), scopeOf(state), copy, {
    x: free.x - corner.x,
    y: free.y - corner.y,
  });
  state.perform(made.command);
  store.getState().select(made.ids);
}

function readCopy(text: string): GraphDocument {
  if (text.trim() === "") throw new CannotPaste("empty");
  if (text.length > MOST_CHARACTERS) throw new CannotPaste("tooLong");
  let copy: GraphDocument;
  try {
    copy = readDocument(JSON.parse(text));
  } catch (problem) {
    if (problem instanceof NotAGraph || problem instanceof SyntaxError) throw new CannotPaste("notAGraph");
    throw problem;
  }
  if (copy.nodes.length + notesOf(copy).length === 0) throw new CannotPaste("notAGraph");
  return copy;
}
