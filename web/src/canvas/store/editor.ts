// React's access to the graph in front and to the catalog.
import { createContext, useContext } from "react";
import { useStore } from "zustand";
import type { Catalog } from "../model/catalog";
import type { GraphActions, GraphState, GraphStore } from "./graph-store";

export interface Editor {
  store: GraphStore;
  catalog: Catalog;
}

export const EditorContext = createContext<Editor | null>(null);

export function useEditor(): Editor {
  const editor = useContext(EditorContext);
  if (editor === null) throw new Error("There is no graph around this component.");
  return editor;
}

/** A part of the graph in front; re-renders only when that part changes. */
export function useGraph<T>(select: (state: GraphState & GraphActions) => T): T {
  return useStore(useEditor().store, select);
}
