// What happens to a graph besides editing: it is saved on the server a moment after each change.
import { ApiProblem, api } from "../../api";
import type { GraphDocument } from "../model/document";
import { documentOf, type GraphStore } from "./graph-store";

const SAVE_AFTER_MS = 700;
const RETRY_AFTER_MS = 5_000;

/** Saves `store` whenever its document changes, never two saves at once, until the answer is called. */
export function keepSaved(store: GraphStore): () => void {
  let timer = 0;
  let busy = false;
  let stopped = false;
  let saved: GraphDocument | null = documentOf(store.getState());

  const later = (ms: number) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void save(), ms);
  };

  const save = async () => {
    if (busy || stopped) return;
    const state = store.getState();
    if (state.save === "conflict") return;
    const doc = documentOf(state);
    if (doc === saved) return;
    busy = true;
    store.getState().set({ save: "saving" });
    let again = false;
    try {
      const answer = await api.saveGraph(state.name, doc, state.revision ?? 0);
      saved = doc;
      store.getState().set({ save: "saved", revision: answer.revision, saveProblem: null });
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 409) {
        store.getState().set({ save: "conflict", saveProblem: error.message });
      } else {
        again = true;
        store.getState().set({ save: "failed", saveProblem: error instanceof Error ? error.message : null });
      }
    }
    busy = false;
    if (again) later(RETRY_AFTER_MS);
    else if (documentOf(store.getState()) !== saved && store.getState().save !== "conflict") later(0);
  };

  const unsubscribe = store.subscribe((state, before) => {
    if (state.save === "conflict") return;
    const resolved = before.save === "conflict";
    if (documentOf(state) === documentOf(before) && !resolved) return;
    if (documentOf(state) === saved) {
      if (state.save === "waiting") state.set({ save: "saved" });
      return;
    }
    if (!busy && state.save !== "waiting") state.set({ save: "waiting" });
    later(resolved ? 0 : SAVE_AFTER_MS);
  });
  const leaving = () => {
    if (document.visibilityState === "hidden") void save();
  };
  document.addEventListener("visibilitychange", leaving);
  return () => {
    void save();
    stopped = true;
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", leaving);
    unsubscribe();
  };
}
