// Graphs that are open in this page, and how one is opened: from what the server and this browser have of it, else from an
// example.
import { ApiProblem, api } from "../../api";
import type { GraphList } from "../../api/types";
import { keepGraph } from "../../drafts/keeper";
import { type KeptGraph, rememberKept } from "../../drafts/kept";
import { browserMirror, type Mirrored } from "../../drafts/mirror";
import { neighbours } from "../../drafts/neighbours";
import { type Found, startWith } from "../../drafts/start";
import { notices } from "../../notices/notices";
import { type GraphDocument, readDocument } from "../model/document";
import { keepChecked } from "./checking";
import { createGraphStore, type GraphStore } from "./graph-store";
import { findRun, rememberRun } from "./runs";

interface OpenGraph {
  store: GraphStore;
  kept: KeptGraph;
  stopChecking: () => void;
}

const open = new Map<string, Promise<OpenGraph>>();
const mirror = browserMirror();

/** The graph called `name`, opened once per page. Rejects with an ApiProblem or NotAGraph. */
export function openGraph(name: string, signal?: AbortSignal): Promise<GraphStore> {
  let opening = open.get(name);
  if (opening === undefined) {
    opening = load(name);
    open.set(name, opening);
    opening.catch(() => open.delete(name));
  }
  return opening.then(({ store }) => {
    signal?.throwIfAborted();
    return store;
  });
}

/** Saves what is not saved and lets go of the graph. */
export async function closeGraph(name: string): Promise<void> {
  const opening = open.get(name);
  open.delete(name);
  const graph = await opening;
  graph?.kept.stop();
  graph?.stopChecking();
}

/**
 * Gives an open graph another name, on the server too; what can be undone stays so. Rejects with an ApiProblem, and the
 * graph has its old name then.
 */
export async function renameGraph(name: string, to: string): Promise<string> {
  const opening = open.get(name);
  if (opening === undefined) return name;
  const { store, kept } = await opening;
  const { save, revision, runId } = store.getState();
  let named: { name: string; revision: number };
  if (revision === null && save === "untouched") {
    // Nothing is on the server yet: it begins there under the new name.
    named = await api.saveGraph(to, { ...store.getState().history.present, name: to }, 0);
  } else {
    await kept.flush();
    named = await api.renameGraph(name, to);
  }
  open.delete(name);
  open.set(named.name, opening);
  kept.renamed(named.name, named.revision);
  rememberRun(name, null);
  rememberRun(named.name, runId);
  return named.name;
}

/** Removes an open graph from the server, and lets go of it without saving it again. Rejects with an ApiProblem. */
export async function deleteGraph(name: string): Promise<void> {
  const opening = open.get(name);
  const { graphs, drafts } = await api.graphs();
  if (graphs.some((graph) => graph.name === name)) await api.deleteGraph(name);
  if (drafts?.some((draft) => draft.name === name)) await api.deleteDraft(name);
  open.delete(name);
  const graph = await opening;
  graph?.kept.discard();
  graph?.stopChecking();
  rememberRun(name, null);
}

async function load(name: string): Promise<OpenGraph> {
  const found = await find(name);
  const start = startWith(name, found);
  const store = createGraphStore(name, start.doc, start.revision);
  if (start.restoredFrom !== null && start.base !== null) {
    // Undo goes back to what the server has.
    store.setState({ history: { past: [start.base], present: start.doc, future: [], merge: null } });
  }
  const runId = await findRun(name);
  if (runId !== null) store.getState().set({ runId });
  const own = neighbours();
  const kept = keepGraph(store, start, {
    mirror,
    neighbours: own,
    onAdopted: (revision) => notices.show({ tone: "live", text: "drafts:adopted", params: { revision } }),
  });
  rememberKept(store, kept);
  const { mirrored } = found;
  if (start.dropDraft) api.deleteDraft(name).catch(() => {});
  if (mirrored !== null) {
    if (mirrored.tab !== own.tab) void mirror.forget(name, mirrored.tab);
    if (start.restoredFrom !== null && start.conflict === null) {
      notices.show({ tone: "live", text: "drafts:restored", time: start.restoredFrom });
    }
  }
  return { store, kept, stopChecking: keepChecked(store) };
}

async function find(name: string): Promise<Found> {
  const mirrored = await unsaved(name);
  try {
    return { ...(await onServer(name)), mirrored };
  } catch (error) {
    if (mirrored === null || !(error instanceof ApiProblem) || error.status !== 0) throw error;
    // The server is away, and this browser has the graph as it was edited last.
    const base = mirrored.base;
    const was = base === null ? null : { doc: base, revision: mirrored.revision ?? 0 };
    const shelf =
      mirrored.shelf === "graph" ? { saved: was, draft: null } : { saved: null, draft: asDraft(was) };
    return { ...shelf, example: null, mirrored };
  }
}

function asDraft(was: { doc: GraphDocument; revision: number } | null): Found["draft"] {
  return was === null ? null : { ...was, graphRevision: 0 };
}

async function onServer(name: string): Promise<Omit<Found, "mirrored">> {
  const list: GraphList = await api.graphs();
  const has = (graphs: GraphList["graphs"] | undefined) =>
    graphs?.some((graph) => graph.name === name) ?? false;
  const [saved, draft] = await Promise.all([
    has(list.graphs) ? api.graph(name) : null,
    has(list.drafts) ? api.draft(name) : null,
  ]);
  let example: GraphDocument | null = null;
  if (saved === null && draft === null) {
    const { examples } = await api.examples();
    if (examples.some((one) => one.name === name)) example = readDocument((await api.example(name)).graph);
  }
  return {
    saved: saved === null ? null : { doc: readDocument(saved.graph), revision: saved.revision },
    draft:
      draft === null
        ? null
        : { doc: readDocument(draft.graph), revision: draft.revision, graphRevision: draft.graph_revision },
    example,
  };
}

/** What this browser has of the graph that was never saved: this tab's own, else that of a tab that is gone. */
async function unsaved(name: string): Promise<Mirrored | null> {
  let entries: Mirrored[];
  try {
    entries = await mirror.of(name);
  } catch {
    return null;
  }
  const { tab } = neighbours();
  const own = entries.find((entry) => entry.tab === tab);
  if (own !== undefined || entries.length === 0) return own ?? null;
  const alive = await neighbours().alive(name);
  return entries.find((entry) => !alive.has(entry.tab)) ?? null;
}
