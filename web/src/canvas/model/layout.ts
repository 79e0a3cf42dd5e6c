// Automatic layout by a library that minds crossings. Loaded when it is asked for; `tidy` is what needs no library.
import { Graph, layout as run } from "@dagrejs/dagre";
import type { Level, Point } from "./document";
import type { Size } from "./tidy";

const UNMEASURED: Size = { width: 200, height: 100 };

/** A position for every node of the level, from left to right, beginning where the level begins now. */
export function layout(level: Level, sizes: ReadonlyMap<string, Size>): Record<string, Point> {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", ranksep: 72, nodesep: 36, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of level.nodes) {
    const { width, height } = sizes.get(node.id) ?? UNMEASURED;
    graph.setNode(node.id, { width, height });
  }
  for (const [at, edge] of level.edges.entries()) {
    if (graph.hasNode(edge.source) && graph.hasNode(edge.target)) {
      graph.setEdge(edge.source, edge.target, {}, String(at));
    }
  }
  run(graph);
  const corner = {
    x: Math.min(...level.nodes.map((node) => node.position.x)),
    y: Math.min(...level.nodes.map((node) => node.position.y)),
  };
  const positions: Record<string, Point> = {};
  for (const node of level.nodes) {
    const placed = graph.node(node.id) as { x: number; y: number; width: number; height: number };
    positions[node.id] = {
      x: Math.round(corner.x + placed.x - placed.width / 2),
      y: Math.round(corner.y + placed.y - placed.height / 2),
    };
  }
  return positions;
}
