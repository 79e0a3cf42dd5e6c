// What is not saved yet, kept in this browser: it outlives a crash, a reload and a server that is away.
import type { GraphDocument } from "../canvas/model/document";

/** An unsaved document of one graph in one tab. */
export interface Mirrored {
  name: string;
  tab: string;
  doc: GraphDocument;
  /** What it was edited from, as the server had it. */
  base: GraphDocument | null;
  revision: number | null;
  shelf: "graph" | "draft";
  /** Unix seconds. */
  at: number;
}

export interface Mirror {
  /** Rejects when this browser keeps nothing. */
  keep(entry: Mirrored): Promise<void>;
  forget(name: string, tab: string): Promise<void>;
  /** All tabs' entries of one graph, the latest first. */
  of(name: string): Promise<Mirrored[]>;
}

const DATABASE = "codefy.drafts";
const STORE = "unsaved";

/** In the browser's own database. */
export function browserMirror(factory: IDBFactory | undefined = globalThis.indexedDB): Mirror {
  let opening: Promise<IDBDatabase> | null = null;
  const database = (): Promise<IDBDatabase> => {
    opening ??= new Promise((resolve, reject) => {
      if (factory === undefined) {
        reject(new Error("this browser has no database"));
        return;
      }
      const request = factory.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: ["name", "tab"] });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    // Next time it may work: a private window that was allowed to store meanwhile, say.
    opening.catch(() => {
      opening = null;
    });
    return opening;
  };
  const run = async <T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>) => {
    const transaction = (await database()).transaction(STORE, mode);
    const request = work(transaction.objectStore(STORE));
    return new Promise<T>((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  };
  return {
    keep: async (entry) => {
      await run("readwrite", (store) => store.put(entry));
    },
    forget: async (name, tab) => {
      await run("readwrite", (store) => store.delete([name, tab]));
    },
    of: async (name) => {
      const range = IDBKeyRange.bound([name, ""], [name, "\uffff"]);
      const found = (await run("readonly", (store) => store.getAll(range))) as Mirrored[];
      return found.sort((a, b) => b.at - a.at);
    },
  };
}

/** Nothing but memory: for tests, and as the shape of a mirror. */
export function memoryMirror(): Mirror & { entries: Map<string, Mirrored> } {
  const entries = new Map<string, Mirrored>();
  return {
    entries,
    keep: async (entry) => {
      entries.set(`${entry.name} ${entry.tab}`, entry);
    },
    forget: async (name, tab) => {
      entries.delete(`${name} ${tab}`);
    },
    of: async (name) =>
      [...entries.values()].filter((entry) => entry.name === name).sort((a, b) => b.at - a.at),
  };
}
