// Adding a node of a type, wired where a wire was in hand.
import type { NodeDefinition } from "../api/types";
import { type Command, freshId } from "./model/commands";
import { type GraphNode, levelOf, type Point } from "./model/document";
import type { WireInHand } from "./model/search";
import { documentOf, type GraphStore, scopeOf } from "./store/graph-store";

/** Under this name a drag carries a node type. */
export const NODE_DRAG = "application/x-codefy-node";

/** Adds the node and selects it; answers its id. */
export function place(
  store: GraphStore,
  definition: NodeDefinition,
  at: Point,
  wire: WireInHand | null,
  port: string | null,
): string {
  const state = store.getState();
  const doc = documentOf(state);
  const scope = scopeOf(state);
  const id = freshId(doc, scope, definition.type);
  const free = clear(levelOf(doc, scope).nodes, { x: Math.round(at.x), y: Math.round(at.y) });
  const node: GraphNode = { id, type: definition.type, position: free, data: { params: {} } };
  const commands: Command[] = [];
  const inner = definition.params.find((param) => param.kind === "subgraph");
  if (inner !== undefined) {
    // A new module gets an inside of its own, with its two ends.
    const name = freshSubgraph(Object.keys(doc.subgraphs ?? {}), id);
    node.data = { params: { [inner.name]: name } };
    commands.push({
      do: "subgraph",
      name,
      nodes: [
        { id: "input", type: "ModuleInput", position: { x: 0, y: 0 }, data: { params: {} } },
        { id: "output", type: "ModuleOutput", position: { x: 560, y: 0 }, data: { params: {} } },
      ],
      edges: [],
    });
  }
  commands.push({ do: "add", scope, nodes: [node] });
  if (wire !== null && port !== null) {
    const edge =
      wire.end === "source"
        ? { source: wire.node, sourceHandle: wire.port, target: id, targetHandle: port }
        : { source: id, sourceHandle: port, target: wire.node, targetHandle: wire.port };
    commands.push({ do: "connect", scope, edge });
  }
  state.perform({ do: "all", commands });
  store.getState().select([id]);
  return id;
}

function freshSubgraph(taken: readonly string[], stem: string): string {
  if (!taken.includes(stem)) return stem;
  for (let count = 2; ; count += 1) if (!taken.includes(`${stem}_${count}`)) return `${stem}_${count}`;
}

/** The place itself, or one a little further down when a node stands there already. */
function clear(nodes: readonly GraphNode[], at: Point): Point {
  let place = at;
  while (
    nodes.some((node) => Math.abs(node.position.x - place.x) < 16 && Math.abs(node.position.y - place.y) < 16)
  ) {
    place = { x: place.x + 24, y: place.y + 24 };
  }
  return place;
}
