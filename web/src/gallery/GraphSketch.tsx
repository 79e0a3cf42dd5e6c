import { useMemo } from "react";
import { useExample, useNodes } from "../api";
import { iconOf } from "../canvas/icons";
import { type Catalog, catalogOf } from "../canvas/model/catalog";
import { typeColour } from "../canvas/PortShape";
import { icons } from "../ui/icons";
import { NODE_WIDTH, type SketchNode, sketchOf } from "./sketch";

const NO_CATALOG: Catalog = new Map();
/** An icon is drawn on 16 units. */
const ICON = 30;

/** An example's graph in small: its nodes by what they are, its wires by what they carry. Decoration. */
export function GraphSketch({ name }: { name: string }) {
  const { data } = useExample(name);
  const nodes = useNodes();
  const catalog = useMemo(
    () => (nodes.data === undefined ? NO_CATALOG : catalogOf(nodes.data.nodes)),
    [nodes.data],
  );
  const sketch = useMemo(() => sketchOf(data?.graph, catalog), [data, catalog]);
  const types = useMemo(() => {
    const graph = data?.graph as { nodes?: { id: string; type: string }[] } | undefined;
    return new Map(graph?.nodes?.map((node) => [node.id, node.type]));
  }, [data]);
  if (sketch.nodes.length === 0) return <div className="sketch" />;
  const { x, y, width, height } = sketch.box;
  return (
    <div className="sketch">
      <svg viewBox={`${x} ${y} ${width} ${height}`} preserveAspectRatio="xMidYMid meet" aria-hidden="true">
        {sketch.wires.map(({ key, from, to, type }) => {
          const bend = Math.max(40, Math.abs(to.x - from.x) / 2);
          return (
            <path
              key={key}
              className="sketch-wire"
              style={{ stroke: typeColour(type) }}
              d={`M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`}
            />
          );
        })}
        {sketch.nodes.map((node) => (
          <Node key={node.id} node={node} icon={iconOf(catalog.get(types.get(node.id) ?? ""))} />
        ))}
      </svg>
    </div>
  );
}

function Node({ node, icon }: { node: SketchNode; icon: keyof typeof icons }) {
  return (
    <g transform={`translate(${node.x} ${node.y})`}>
      <rect className="sketch-node" width={NODE_WIDTH} height={node.height} rx="10" />
      <g className="sketch-icon" transform={`translate(10 8) scale(${ICON / 16})`}>
        {icons[icon]}
      </g>
      <path className="sketch-title" d={`M50 23h${Math.min(88, 20 + node.title.length * 7)}`} />
      {Array.from({ length: node.layers }, (_, at) => `M16 ${52 + at * 11}h${at % 3 === 0 ? 96 : 66}`).map(
        (line) => (
          <path key={line} className="sketch-layer" d={line} />
        ),
      )}
    </g>
  );
}
