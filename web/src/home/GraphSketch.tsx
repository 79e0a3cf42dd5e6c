import { useExample } from "../api";

interface SketchNode {
  id: string;
  x: number;
  y: number;
}

interface Sketch {
  nodes: SketchNode[];
  wires: [SketchNode, SketchNode][];
}

const NODE = { width: 150, height: 70 };

/** Places and wires of a document's nodes; what has no position is left out. */
export function sketchOf(graph: unknown): Sketch {
  const document = graph as { nodes?: unknown; edges?: unknown } | null;
  const nodes: SketchNode[] = [];
  for (const node of Array.isArray(document?.nodes) ? document.nodes : []) {
    const { id, position } = node as { id?: unknown; position?: { x?: unknown; y?: unknown } };
    if (typeof id === "string" && typeof position?.x === "number" && typeof position.y === "number") {
      nodes.push({ id, x: position.x, y: position.y });
    }
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const wires: [SketchNode, SketchNode][] = [];
  for (const edge of Array.isArray(document?.edges) ? document.edges : []) {
    const { source, target } = edge as { source?: unknown; target?: unknown };
    const from = byId.get(String(source));
    const to = byId.get(String(target));
    if (from && to) wires.push([from, to]);
  }
  return { nodes, wires };
}

/** The shape of an example's graph, small. Decoration. */
export function GraphSketch({ name }: { name: string }) {
  const { data } = useExample(name);
  const { nodes, wires } = sketchOf(data?.graph);
  if (nodes.length === 0) return <div className="sketch" />;
  const xs = nodes.map((node) => node.x);
  const ys = nodes.map((node) => node.y);
  const left = Math.min(...xs) - 30;
  const top = Math.min(...ys) - 30;
  const width = Math.max(...xs) + NODE.width + 30 - left;
  const height = Math.max(...ys) + NODE.height + 30 - top;
  return (
    <div className="sketch">
      <svg
        viewBox={`${left} ${top} ${width} ${height}`}
        preserveAspectRatio="xMidYMid meet"
        aria-hidden="true"
      >
        {wires.map(([from, to]) => {
          const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
          const [x2, y2] = [to.x, to.y + NODE.height / 2];
          const bend = Math.max(40, Math.abs(x2 - x1) / 2);
          return (
            <path
              key={`${from.id}-${to.id}`}
              className="sketch-wire"
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {nodes.map((node) => (
          <rect
            key={node.id}
            className="sketch-node"
            x={node.x}
            y={node.y}
            width={NODE.width}
            height={NODE.height}
            rx="10"
          />
        ))}
      </svg>
    </div>
  );
}
