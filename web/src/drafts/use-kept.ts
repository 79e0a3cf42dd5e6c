import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { useEditor } from "../canvas/store/editor";
import { type Kept, type KeptGraph, keptOf, keptState } from "./kept";

const NOBODY = keptState("graph", null);

/** How the graph in front is kept, and what can be done about it. */
export function useKept(): KeptGraph | undefined {
  return keptOf(useEditor().store);
}

export function useKeptState<T>(select: (kept: Kept) => T): T {
  return useStore(useKept()?.state ?? NOBODY, select);
}

/** What of this feature is open over the page. */
export const keeping = createStore<{ comparing: boolean; naming: boolean }>(() => ({
  comparing: false,
  naming: false,
}));

export function useKeeping<T>(select: (state: { comparing: boolean; naming: boolean }) => T): T {
  return useStore(keeping, select);
}
