// What is known of how an open graph is kept, beside the graph itself: shown in the strip, in notices and on the tabs.
import { createStore, type StoreApi } from "zustand/vanilla";
import type { ApiProblem } from "../api";
import type { GraphStore } from "../canvas/store/graph-store";
import type { Conflict } from "./start";

export interface Kept {
  /** Whether it lies in its file, or as a draft because nobody has named it. */
  shelf: "graph" | "draft";
  /** Why the last save failed. */
  problem: ApiProblem | null;
  /** Whether this browser has what is not saved. */
  mirrored: boolean;
  /** Unix seconds of the next try; `null` when none is planned. */
  retryAt: number | null;
  conflict: Conflict | null;
  /** Other tabs of this browser that have it open. */
  others: number;
}

export interface KeptGraph {
  state: StoreApi<Kept>;
  /** Try to save now. */
  retry(): void;
  /** Waits until what is there is saved. Rejects when it cannot be. */
  flush(): Promise<void>;
  /** Mine over theirs. */
  takeMine(): void;
  /** Theirs in the place of mine, which Undo brings back. */
  takeTheirs(): Promise<void>;
  /** Mine under another name, theirs here. */
  keepBoth(copy: string): Promise<void>;
  /** It has another name and lies in a file now. */
  renamed(name: string, revision: number): void;
  /** Saves what is not saved, and lets go. */
  stop(): void;
  /** Lets go of a graph that is no more. */
  discard(): void;
}

export function keptState(shelf: Kept["shelf"], conflict: Conflict | null): StoreApi<Kept> {
  return createStore<Kept>(() => ({
    shelf,
    problem: null,
    mirrored: true,
    retryAt: null,
    conflict,
    others: 0,
  }));
}

const all = new WeakMap<GraphStore, KeptGraph>();

export function rememberKept(store: GraphStore, kept: KeptGraph): void {
  all.set(store, kept);
}

export function keptOf(store: GraphStore): KeptGraph | undefined {
  return all.get(store);
}
