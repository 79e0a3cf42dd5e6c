// The layers of a module, as its node lists them.
import { inOrder } from "./connect";
import { findLevel, type GraphDocument } from "./document";

export interface Layer {
  id: string;
  type: string;
  label: string | undefined;
}

/** Layers in the order in which data goes through them, without the module's own ends. */
export function layersOf(doc: GraphDocument, subgraph: string): Layer[] {
  const level = findLevel(doc, subgraph);
  if (level === undefined) return [];
  const nodes = new Map(level.nodes.map((node) => [node.id, node]));
  return inOrder(level).flatMap((id) => {
    const node = nodes.get(id);
    if (node === undefined || node.type === "ModuleInput" || node.type === "ModuleOutput") return [];
    return [{ id, type: node.type, label: node.data.label }];
  });
}
