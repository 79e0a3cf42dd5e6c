// How the canvas page is arranged: remembered in the browser, the same for all graphs.
import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { CurveView } from "../../charts/Curves";

export type DockTab = "curves" | "console" | "outputs" | "problems";
export type PanelTab = "parameters" | "outputs" | "help";

export const DOCK_LEAST = 140;

interface ViewState {
  tabs: readonly string[];
  last: string | null;
  /** `null` until someone folds or opens it: open as soon as there is a run. */
  dockOpen: boolean | null;
  dockHeight: number;
  dockTab: DockTab;
  panelOpen: boolean;
  libraryOpen: boolean;
  curves: CurveView;
  mapOpen: boolean;
  /** Nodes stop at the dots of the canvas. */
  snap: boolean;
  /** Keys without Ctrl or Alt do something. */
  letters: boolean;
  showTab(name: string): void;
  closeTab(name: string): void;
  set(change: Partial<Omit<ViewState, "showTab" | "closeTab" | "set">>): void;
}

export const useView = create<ViewState>()(
  persist(
    (set) => ({
      tabs: [],
      last: null,
      dockOpen: null,
      dockHeight: 248,
      dockTab: "curves",
      panelOpen: true,
      libraryOpen: false,
      mapOpen: false,
      snap: false,
      letters: true,
      curves: { scale: "log", axis: "step", smoothing: 0.6 },
      showTab: (name) =>
        set((state) => ({
          tabs: state.tabs.includes(name) ? state.tabs : [...state.tabs, name],
          last: name,
        })),
      closeTab: (name) =>
        set((state) => {
          const tabs = state.tabs.filter((tab) => tab !== name);
          return { tabs, last: state.last === name ? (tabs.at(-1) ?? null) : state.last };
        }),
      set: (change) => set(change),
    }),
    { name: "codefy.canvas", version: 1 },
  ),
);
