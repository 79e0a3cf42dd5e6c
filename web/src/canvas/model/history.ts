// Undo and redo over immutable documents.
import { apply, type Command } from "./commands";
import type { GraphDocument } from "./document";

/** How many steps can be undone. */
export const MOST_STEPS = 300;

export interface History {
  past: readonly GraphDocument[];
  present: GraphDocument;
  future: readonly GraphDocument[];
  /** Changes that carry the same name one after the other are one step: typing into one field, say. */
  merge: string | null;
}

export function startHistory(present: GraphDocument): History {
  return { past: [], present, future: [], merge: null };
}

export function perform(history: History, command: Command, merge: string | null = null): History {
  const present = apply(history.present, command);
  if (present === history.present) return history;
  const goesOn = merge !== null && merge === history.merge && history.past.length > 0;
  const past = goesOn ? history.past : [...history.past, history.present].slice(-MOST_STEPS);
  return { past, present, future: [], merge };
}

export function undo(history: History): History {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  return {
    past: history.past.slice(0, -1),
    present: before,
    future: [history.present, ...history.future],
    merge: null,
  };
}

export function redo(history: History): History {
  const [after, ...future] = history.future;
  if (after === undefined) return history;
  return { past: [...history.past, history.present], present: after, future, merge: null };
}
