// React's access to the graph in front and to the catalog.
import { createContext, useContext } from "react";
import { useStore } from "zustand";
import type { NodeDefinition } from "../../api/types";
import type { Catalog } from "../model/catalog";
import type { GraphNode } from "../model/document";
import { type Types, typesOf } from "../model/types";
import { documentOf, type GraphActions, type GraphState, type GraphStore } from "./graph-store";

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

/** What the nodes of the document in front look like. */
export function useTypes(): Types {
  const { catalog } = useEditor();
  return useGraph((state) => typesOf(documentOf(state), catalog));
}

/** The definition of this very node, with the ports that it has now. */
export function useDefinition(node: GraphNode | undefined): NodeDefinition | undefined {
  const { catalog } = useEditor();
  return useGraph((state) => node && typesOf(documentOf(state), catalog).of(node));
}
