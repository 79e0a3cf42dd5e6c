// What is open over the canvas right now; forgotten on reload.
import { create } from "zustand";
import type { Point } from "../model/document";
import type { WireInHand } from "../model/search";

export interface SearchRequest {
  /** Where the new node is to stand, in window pixels; `null` for the middle of the canvas. */
  at: Point | null;
  wire: WireInHand | null;
}

interface StageUi {
  search: SearchRequest | null;
  queueOpen: boolean;
  keysOpen: boolean;
  /** Why the last run could not be started, until it is dismissed. */
  notice: {
    tone: "bad" | "warn" | "live";
    text: string;
    detail?: string | undefined;
    /** The queued run that it is about: it links there, and goes when the run has started. */
    queued?: { runId: string; since: number };
  } | null;
  /** The whole graph was fitted into view and nobody has moved the canvas since. */
  fitted: boolean;
  removeChosen: () => void;
  openSearch(request: SearchRequest): void;
  closeSearch(): void;
}

export const useStageUi = create<StageUi>()((set) => ({
  search: null,
  queueOpen: false,
  keysOpen: false,
  notice: null,
  fitted: true,
  removeChosen: () => {},
  openSearch: (search) => set({ search }),
  closeSearch: () => set({ search: null }),
}));
