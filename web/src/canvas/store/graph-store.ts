// One open graph: its document with undo, what is selected, which module is open, which run it shows.
import { createStore, type StoreApi } from "zustand/vanilla";
import type { GraphProblem } from "../../api/types";
import type { Command } from "../model/commands";
import {
  findLevel,
  findNode,
  type GraphDocument,
  type Level,
  levelOf,
  notesOf,
  type Scope,
} from "../model/document";
import { type History, perform, redo, startHistory, undo } from "../model/history";
import { NO_SHAPES, type ShapeBook } from "../model/shapes";

/** A module or group that is open, with the node that names it. */
export interface OpenModule {
  node: string;
  /** The scope of its inside. */
  subgraph: string;
}

export type SaveState = "untouched" | "saved" | "waiting" | "saving" | "failed" | "conflict";

export interface GraphState {
  name: string;
  history: History;
  /** Modules opened one inside the other. */
  trail: readonly OpenModule[];
  selection: readonly string[];
  save: SaveState;
  /** Why the last save failed. */
  saveProblem: string | null;
  /** The server's revision; `null` for a graph that it does not have. */
  revision: number | null;
  problems: readonly GraphProblem[];
  /** Whether the server has looked at the document as it is now. */
  checked: boolean;
  /** What each port will carry, as far as the server can tell without running. */
  shapes: ShapeBook;
  runId: string | null;
}

export interface GraphActions {
  perform(command: Command, merge?: string): void;
  undo(): void;
  redo(): void;
  select(ids: readonly string[]): void;
  open(module: OpenModule): void;
  /** Go back to the level with `depth` modules open. */
  leave(depth: number): void;
  set(
    change: Partial<
      Pick<GraphState, "save" | "saveProblem" | "revision" | "problems" | "checked" | "shapes" | "runId">
    >,
  ): void;
  /** Save over `revision`, which someone else saved. */
  takeOver(revision: number): void;
  /** Take another document, as read from the server; can be undone. */
  replace(doc: GraphDocument): void;
}

export type GraphStore = StoreApi<GraphState & GraphActions>;

export function documentOf(state: GraphState): GraphDocument {
  return state.history.present;
}

export function scopeOf(state: GraphState): Scope {
  return state.trail.at(-1)?.subgraph ?? null;
}

export function currentLevel(state: GraphState): Level {
  return levelOf(state.history.present, scopeOf(state));
}

/** Whether the open level becomes part of a model, so that only layers may stand in it. */
export function insideModule(state: GraphState): boolean {
  let scope: Scope = null;
  for (const { node, subgraph } of state.trail) {
    const type = findNode(levelOf(state.history.present, scope), node)?.type;
    // The inside of a group belongs to where the group stands.
    if (type !== undefined && type !== "Subgraph" && type !== "Preset") return true;
    scope = subgraph;
  }
  return false;
}

/** How problems and events name a node of the open level: `model/conv1`. */
export function nodePath(state: GraphState, id: string): string {
  return [...state.trail.map((module) => module.node), id].join("/");
}

export function createGraphStore(name: string, doc: GraphDocument, revision: number | null): GraphStore {
  return createStore<GraphState & GraphActions>((set, get) => {
    /** After a jump in history the open module or the selected nodes may be gone. */
    const settle = (history: History): Partial<GraphState> => {
      const state = get();
      const trail: OpenModule[] = [];
      for (const module of state.trail) {
        if (findLevel(history.present, module.subgraph) === undefined) break;
        trail.push(module);
      }
      const level = levelOf(history.present, trail.at(-1)?.subgraph ?? null);
      const ids = new Set([...level.nodes, ...notesOf(level)].map((item) => item.id));
      const selection =
        trail.length === state.trail.length ? state.selection.filter((id) => ids.has(id)) : [];
      return {
        history,
        trail: trail.length === state.trail.length ? state.trail : trail,
        selection: selection.length === state.selection.length ? state.selection : selection,
        checked: history.present === state.history.present ? state.checked : false,
      };
    };
    return {
      name,
      history: startHistory(doc),
      trail: [],
      selection: [],
      save: revision === null ? "untouched" : "saved",
      saveProblem: null,
      revision,
      problems: [],
      checked: false,
      shapes: NO_SHAPES,
      runId: null,
      perform: (command, merge) => set((state) => settle(perform(state.history, command, merge ?? null))),
      undo: () => set((state) => settle(undo(state.history))),
      redo: () => set((state) => settle(redo(state.history))),
      select: (ids) =>
        set((state) => {
          const same =
            ids.length === state.selection.length && ids.every((id, at) => id === state.selection[at]);
          return same ? state : { selection: ids };
        }),
      open: (module) => set((state) => ({ trail: [...state.trail, module], selection: [] })),
      leave: (depth) =>
        set((state) =>
          depth >= state.trail.length
            ? state
            : {
                trail: state.trail.slice(0, depth),
                selection: [state.trail[depth]?.node].filter((id) => id !== undefined),
              },
        ),
      set: (change) => set(change),
      takeOver: (revision) => set({ save: "waiting", revision }),
      replace: (next) =>
        set((state) =>
          settle({
            past: [...state.history.past, state.history.present],
            present: next,
            future: [],
            merge: null,
          }),
        ),
    };
  });
}
