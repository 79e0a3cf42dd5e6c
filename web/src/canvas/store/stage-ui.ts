// What is open over the canvas right now; forgotten on reload.
import { create } from "zustand";
import type { Bridge } from "../model/bridge";
import type { GraphEdge, Point } from "../model/document";
import type { WireInHand } from "../model/search";

export interface SearchRequest {
  /** Where the new node is to stand, in window pixels; `null` for the middle of the canvas. */
  at: Point | null;
  wire: WireInHand | null;
}

/** A wire that was let go over a port that refuses it. */
export interface RefusedWire {
  /** In window pixels. */
  at: Point;
  edge: GraphEdge;
  text: string;
  bridge: Bridge | null;
}

interface StageUi {
  search: SearchRequest | null;
  /** The wire that is being drawn: its free end looks for a port of `type`. */
  hand: { end: "source" | "target"; type: string } | null;
  refused: RefusedWire | null;
  /** The command palette. */
  paletteOpen: boolean;
  /** The node whose ports are being wired with the keyboard. */
  wiring: string | null;
  /** The node or note whose name is being typed on the canvas. */
  renaming: string | null;
  /** The group whose ports and parameters are being chosen; `preset` when it is to become one. */
  exposing: { scope: string; node: string | null; preset: boolean } | null;
  /** A menu at this place, in window pixels. */
  menu: Point | null;
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
  hand: null,
  refused: null,
  paletteOpen: false,
  wiring: null,
  renaming: null,
  exposing: null,
  menu: null,
  queueOpen: false,
  keysOpen: false,
  notice: null,
  fitted: true,
  removeChosen: () => {},
  openSearch: (search) => set({ search }),
  closeSearch: () => set({ search: null }),
}));
