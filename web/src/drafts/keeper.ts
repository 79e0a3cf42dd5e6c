// Keeps one graph: every change goes to this browser at once and to the server a moment later, on the revision that it was
// edited from. Where somebody else was faster nothing is overwritten; both versions stay until the person decides.
import { ApiProblem, api, presence } from "../api";
import { type GraphDocument, readDocument } from "../canvas/model/document";
import { documentOf, type GraphStore } from "../canvas/store/graph-store";
import { type KeptGraph, keptState } from "./kept";
import type { Mirror } from "./mirror";
import type { Neighbours } from "./neighbours";
import { same } from "./same";
import type { Start } from "./start";

export const SAVE_AFTER_MS = 700;
const RETRIES_MS = [2_000, 5_000, 10_000, 30_000];
/** What a browser still sends when a page is left. */
const KEEPALIVE_BYTES = 60_000;
/** Refusals that another try cannot change. */
const PASSING = new Set([0, 401, 408, 429]);

export interface Ports {
  mirror: Mirror;
  neighbours: Pick<Neighbours, "tab" | "open" | "saved">;
  /** Another tab or person saved a newer revision, which is shown now. */
  onAdopted?: (revision: number) => void;
}

export function keepGraph(store: GraphStore, start: Start, ports: Ports): KeptGraph {
  const { mirror, neighbours } = ports;
  const state = keptState(start.shelf, start.conflict);
  /** The document as the server has it. */
  let saved = start.conflict !== null || start.restoredFrom !== null ? start.base : start.doc;
  /** Sent, and not known to have arrived. */
  let sent: GraphDocument | null = null;
  let draftRevision = start.conflict?.draft ?? null;
  let timer = 0;
  let failures = 0;
  let busy: Promise<void> | null = null;
  let stopped = false;
  let closeNeighbours = () => {};

  const now = () => documentOf(store.getState());
  const dirty = () => now() !== saved;
  const later = (ms: number) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void save(), ms);
  };

  // ---------------------------------------------------------------- this browser

  let mirroring = false;
  let mirrorAgain = false;
  const mirrorNow = async () => {
    if (mirroring) {
      mirrorAgain = true;
      return;
    }
    mirroring = true;
    do {
      mirrorAgain = false;
      const { name, revision } = store.getState();
      const { shelf, conflict } = state.getState();
      try {
        if (dirty()) {
          await mirror.keep({
            name,
            tab: neighbours.tab,
            doc: now(),
            base: conflict === null ? saved : conflict.base,
            revision,
            shelf,
            at: Date.now() / 1000,
          });
        } else {
          await mirror.forget(name, neighbours.tab);
        }
        state.setState({ mirrored: true });
      } catch {
        state.setState({ mirrored: false });
      }
    } while (mirrorAgain);
    mirroring = false;
  };

  // ---------------------------------------------------------------- the server

  const arrived = (doc: GraphDocument, revision: number) => {
    saved = doc;
    sent = null;
    failures = 0;
    state.setState({ problem: null, retryAt: null });
    store.getState().set({ save: now() === doc ? "saved" : "waiting", revision, saveProblem: null });
    neighbours.saved(store.getState().name, revision);
    void mirrorNow();
  };

  const put = async (doc: GraphDocument, leaving: boolean): Promise<number> => {
    const { name, revision } = store.getState();
    const keepalive = leaving && JSON.stringify(doc).length < KEEPALIVE_BYTES;
    if (state.getState().shelf === "graph") {
      return (await api.saveGraph(name, doc, revision ?? 0, { keepalive })).revision;
    }
    return (await api.saveDraft(name, doc, { revision: revision ?? 0, graphRevision: 0 }, { keepalive }))
      .revision;
  };

  /** Somebody else was faster, or my own last word arrived without its answer. */
  const met = (doc: GraphDocument, problem: ApiProblem) => {
    const { current } = problem;
    const revision = current?.revision ?? 0;
    let theirs: GraphDocument | null;
    try {
      theirs = current === null ? null : readDocument(current.graph);
    } catch {
      // The file on the server was changed by other hands into something else.
      failed(problem);
      return;
    }
    if (theirs !== null && same(theirs, doc)) {
      arrived(doc, revision);
      return;
    }
    if (theirs !== null && sent !== null && same(theirs, sent)) {
      saved = sent;
      sent = null;
      store.getState().set({ revision });
      later(0);
      return;
    }
    const from = store.getState().revision ?? 0;
    undecided({ theirs, revision, from, base: saved, draft: draftRevision });
  };

  const undecided = (conflict: NonNullable<Start["conflict"]>) => {
    state.setState({ conflict, problem: null, retryAt: null });
    store.getState().set({ save: "conflict", saveProblem: null });
    void mirrorNow();
    later(0);
  };

  const failed = (error: unknown) => {
    const problem =
      error instanceof ApiProblem
        ? error
        : new ApiProblem({ status: 0, code: "unreachable", message: String(error) });
    const again = PASSING.has(problem.status) || problem.status >= 500;
    const wait = RETRIES_MS[Math.min(failures, RETRIES_MS.length - 1)] ?? 0;
    failures += 1;
    state.setState({ problem, retryAt: again ? (Date.now() + wait) / 1000 : null });
    store.getState().set({ save: "failed", saveProblem: problem.message });
    if (again) later(wait);
  };

  /** My version while two are at odds: the server keeps it as a draft. */
  const keepUndecided = async (doc: GraphDocument, conflict: NonNullable<Start["conflict"]>) => {
    // A draft that nobody has named has no second place.
    if (state.getState().shelf === "draft" || undecidedSaved === doc) return;
    const { name } = store.getState();
    try {
      const base = { revision: draftRevision ?? 0, graphRevision: conflict.from };
      draftRevision = (await api.saveDraft(name, doc, base)).revision;
      undecidedSaved = doc;
    } catch {
      // Somebody else has a draft there, or the server is away: this browser has it.
      draftRevision = null;
    }
    const still = state.getState().conflict;
    if (still === conflict) state.setState({ conflict: { ...still, draft: draftRevision } });
  };
  let undecidedSaved: GraphDocument | null = null;

  const save = (leaving = false): Promise<void> => {
    window.clearTimeout(timer);
    busy ??= (async () => {
      if (stopped && !leaving) return;
      const doc = now();
      const { conflict } = state.getState();
      if (conflict !== null) {
        await keepUndecided(doc, conflict);
        return;
      }
      if (doc === saved) return;
      store.getState().set({ save: "saving" });
      try {
        const revision = await put(doc, leaving);
        arrived(doc, revision);
        if (draftRevision !== null) dropDraft();
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 409) met(doc, error);
        else {
          if (!(error instanceof ApiProblem) || error.status === 0) sent = doc;
          failed(error);
        }
      }
    })().finally(() => {
      busy = null;
      const { save: how } = store.getState();
      if (!stopped && dirty() && how === "waiting") later(0);
    });
    return busy;
  };

  const dropDraft = () => {
    draftRevision = null;
    undecidedSaved = null;
    api.deleteDraft(store.getState().name).catch(() => {
      // It says nothing that the file does not: opening the graph drops it.
    });
  };

  /** What the server has now, if this tab has nothing to say. */
  let looked = Date.now();
  const look = async (told: boolean, least = 0) => {
    if (dirty() || busy !== null || stopped || state.getState().conflict !== null) return;
    const { name, revision } = store.getState();
    if ((revision === null && !told) || Date.now() - looked < least) return;
    looked = Date.now();
    const { shelf } = state.getState();
    try {
      const found = await (shelf === "graph" ? api.graph(name) : api.draft(name));
      if (dirty() || busy !== null || found.revision === store.getState().revision) return;
      const doc = readDocument(found.graph);
      store.getState().set({ revision: found.revision });
      if (saved !== null && same(doc, saved)) return;
      adopt(doc, found.revision);
      ports.onAdopted?.(found.revision);
    } catch {
      // Away, or deleted: the next change finds out and asks.
    }
  };

  /** Theirs in front; Undo goes back to what was there. */
  const adopt = (doc: GraphDocument, revision: number) => {
    saved = doc;
    store.getState().replace(doc);
    store.getState().set({ save: "saved", saveProblem: null, revision });
    void mirrorNow();
  };

  // ---------------------------------------------------------------- what happens around it

  const unsubscribe = store.subscribe((after, before) => {
    if (documentOf(after) === documentOf(before)) return;
    void mirrorNow();
    if (after.save === "conflict") {
      later(SAVE_AFTER_MS);
      return;
    }
    if (documentOf(after) === saved) {
      if (after.save === "waiting" || after.save === "failed") after.set({ save: "saved" });
      return;
    }
    if (busy === null && after.save !== "waiting") after.set({ save: "waiting" });
    later(SAVE_AFTER_MS);
  });
  const stopHearing = presence.subscribe(() => {
    if (presence.get().awaySince === null && store.getState().save === "failed") later(0);
  });
  const onVisible = () => {
    if (document.visibilityState === "hidden") void save(true);
    else void look(false, 2_000);
  };
  const onHide = () => void save(true);
  const onUnload = (event: BeforeUnloadEvent) => {
    if (dirty() && !state.getState().mirrored) event.preventDefault();
  };
  document.addEventListener("visibilitychange", onVisible);
  window.addEventListener("focus", onVisible);
  window.addEventListener("pagehide", onHide);
  window.addEventListener("beforeunload", onUnload);
  const watch = (name: string) =>
    neighbours.open(name, {
      onSaved: (revision) => {
        if (revision !== store.getState().revision) void look(true);
      },
      onOthers: (others) => state.setState({ others }),
    });
  closeNeighbours = watch(store.getState().name);

  if (start.conflict !== null) store.getState().set({ save: "conflict" });
  else if (dirty()) {
    store.getState().set({ save: "waiting" });
    later(0);
  }

  const stop = () => {
    stopped = true;
    window.clearTimeout(timer);
    unsubscribe();
    stopHearing();
    closeNeighbours();
    document.removeEventListener("visibilitychange", onVisible);
    window.removeEventListener("focus", onVisible);
    window.removeEventListener("pagehide", onHide);
    window.removeEventListener("beforeunload", onUnload);
  };

  return {
    state,
    retry: () => {
      failures = 0;
      void save();
    },
    flush: async () => {
      await save();
      if (busy !== null) await busy;
      if (dirty()) await save();
      const { problem } = state.getState();
      if (dirty()) throw problem ?? new ApiProblem({ status: 409, code: "not_decided", message: "" });
    },
    takeMine: () => {
      const { conflict } = state.getState();
      if (conflict === null) return;
      state.setState({ conflict: null });
      saved = conflict.theirs;
      store.getState().set({ save: "waiting", revision: conflict.revision });
      later(0);
    },
    takeTheirs: async () => {
      const { conflict } = state.getState();
      if (conflict === null || conflict.theirs === null) return;
      state.setState({ conflict: null });
      adopt(conflict.theirs, conflict.revision);
      if (draftRevision !== null) dropDraft();
    },
    keepBoth: async (copy) => {
      const { conflict } = state.getState();
      if (conflict === null || conflict.theirs === null) return;
      await api.saveGraph(copy, { ...now(), name: copy }, 0);
      state.setState({ conflict: null });
      adopt(conflict.theirs, conflict.revision);
      if (draftRevision !== null) dropDraft();
    },
    renamed: (name, revision) => {
      closeNeighbours();
      void mirror.forget(store.getState().name, neighbours.tab);
      const { history } = store.getState();
      const doc = { ...history.present, name };
      if (!dirty()) saved = doc;
      store.setState({ name, revision, history: { ...history, present: doc } });
      state.setState({ shelf: "graph", others: 0 });
      closeNeighbours = watch(name);
    },
    stop: () => {
      void save(true);
      stop();
    },
    discard: () => {
      stop();
      void mirror.forget(store.getState().name, neighbours.tab);
    },
  };
}
