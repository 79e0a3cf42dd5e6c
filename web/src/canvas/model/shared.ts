// What several selected nodes have in common. Pure.
import type { NodeDefinition, ParamDefinition } from "../../api/types";
import type { GraphNode } from "./document";
import { isVisible } from "./params";

/** Parameters that all nodes show and that mean the same in each: name, kind, choices and bounds agree. */
export function sharedParams(
  nodes: readonly GraphNode[],
  definitionOf: (node: GraphNode) => NodeDefinition | undefined,
): ParamDefinition[] {
  const [first, ...others] = nodes;
  const own = first && definitionOf(first);
  if (first === undefined || own === undefined) return [];
  return own.params.filter(
    (param) =>
      !PLACES.has(param.kind) &&
      isVisible(first, own, param) &&
      others.every((node) => {
        const definition = definitionOf(node);
        const same = definition?.params.find((candidate) => candidate.name === param.name);
        return (
          definition !== undefined &&
          same !== undefined &&
          isVisible(node, definition, same) &&
          meaning(same) === meaning(param)
        );
      }),
  );
}

/** Which group a node shows is its own affair. */
const PLACES: ReadonlySet<string> = new Set(["subgraph", "preset"]);

function meaning(param: ParamDefinition): string {
  const { kind, min, max, exclusive_min, exclusive_max, choices, optional, unit } = param;
  return JSON.stringify([kind, min, max, exclusive_min, exclusive_max, choices, optional, unit]);
}
