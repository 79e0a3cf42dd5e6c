// Graphs that are open in this page, and how one is opened: from what the server has saved, else from an example.
import { api } from "../../api";
import { emptyDocument, type GraphDocument, readDocument } from "../model/document";
import { keepChecked } from "./checking";
import { createGraphStore, type GraphStore } from "./graph-store";
import { keepSaved } from "./keeping";
import { findRun } from "./runs";

interface OpenGraph {
  store: GraphStore;
  close: () => void;
}

const open = new Map<string, Promise<OpenGraph>>();

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

export async function closeGraph(name: string): Promise<void> {
  const opening = open.get(name);
  open.delete(name);
  (await opening)?.close();
}

async function load(name: string): Promise<OpenGraph> {
  const { doc, revision } = await read(name);
  const store = createGraphStore(name, doc, revision);
  const runId = await findRun(name);
  if (runId !== null) store.getState().set({ runId });
  const stopSaving = keepSaved(store);
  const stopChecking = keepChecked(store);
  return {
    store,
    close: () => {
      stopSaving();
      stopChecking();
    },
  };
}

/** What the server has saved, else the example of that name, else an empty graph. */
async function read(name: string): Promise<{ doc: GraphDocument; revision: number | null }> {
  const { graphs } = await api.graphs();
  if (graphs.some((graph) => graph.name === name)) {
    const saved = await api.graph(name);
    return { doc: readDocument(saved.graph), revision: saved.revision };
  }
  const { examples } = await api.examples();
  if (examples.some((example) => example.name === name)) {
    const example = await api.example(name);
    return { doc: readDocument(example.graph), revision: null };
  }
  return { doc: emptyDocument(name), revision: null };
}
