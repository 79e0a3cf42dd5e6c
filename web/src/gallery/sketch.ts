// A graph in small: where its nodes stand, what each looks like, and what its wires carry.
import { portType } from "../canvas/model/catalog";

export interface SketchNode {
  id: string;
  x: number;
  y: number;
  height: number;
  icon: string;
  title: string;
  /** What a module is made of: one line for each layer. */
  layers: number;
}

export interface SketchWire {
  key: string;
  from: { x: number; y: number };
  to: { x: number; y: number };
  /** The data type's colour, by its name. */
  type: string;
}

export interface Sketch {
  nodes: SketchNode[];
  wires: SketchWire[];
  box: { x: number; y: number; width: number; height: number };
}

export interface KnownType {
  title: string;
  icon: string;
  outputs: readonly { name: string; type: string }[];
}

export const NODE_WIDTH = 150;
const HEAD = 46;
const LAYER = 11;
const MOST_LAYERS = 9;
const MARGIN = 24;

interface RawNode {
  id?: unknown;
  type?: unknown;
  position?: { x?: unknown; y?: unknown };
  data?: { label?: unknown; params?: Record<string, unknown> };
}

/** What has no place is left out; types that are not known have neither icon nor colour. */
export function sketchOf(graph: unknown, types: ReadonlyMap<string, KnownType>): Sketch {
  const document = (graph ?? {}) as { nodes?: unknown; edges?: unknown; subgraphs?: Record<string, unknown> };
  const nodes: SketchNode[] = [];
  const typeOf = new Map<string, string>();
  for (const raw of list(document.nodes) as RawNode[]) {
    const { id, type, position, data } = raw;
    if (typeof id !== "string" || typeof position?.x !== "number" || typeof position.y !== "number") continue;
    const known = types.get(String(type));
    const inner = data?.params?.subgraph;
    const inside =
      typeof inner === "string" ? (document.subgraphs?.[inner] as { nodes?: unknown }) : undefined;
    // Its two ends are no layers.
    const layers = Math.min(MOST_LAYERS, Math.max(0, list(inside?.nodes).length - 2));
    typeOf.set(id, String(type));
    nodes.push({
      id,
      x: position.x,
      y: position.y,
      height: HEAD + layers * LAYER + (layers > 0 ? 6 : 0),
      icon: known?.icon ?? "",
      title:
        typeof data?.label === "string" && data.label !== "" ? data.label : (known?.title ?? String(type)),
      layers,
    });
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const wires: SketchWire[] = [];
  for (const edge of list(document.edges) as Record<string, unknown>[]) {
    const [from, to] = [byId.get(String(edge.source)), byId.get(String(edge.target))];
    if (from === undefined || to === undefined) continue;
    const output = types
      .get(typeOf.get(from.id) ?? "")
      ?.outputs.find((one) => one.name === edge.sourceHandle);
    wires.push({
      key: `${from.id}.${String(edge.sourceHandle)}-${to.id}.${String(edge.targetHandle)}`,
      from: { x: from.x + NODE_WIDTH, y: from.y + HEAD / 2 },
      to: { x: to.x, y: to.y + HEAD / 2 },
      type: portType(output?.type ?? "any"),
    });
  }
  return { nodes, wires, box: boxAround(nodes) };
}

/** Parts that nearly every graph has, and that tell none from another. */
const COMMON = new Set(
  (
    "SklearnDataset TrainTestSplit DataLoader DatasetToTensors TensorsToDataset TrainingLoop Evaluate AdamW Adam SGD " +
    "CrossEntropyLoss MSELoss Print Module Submodule ModuleInput ModuleOutput ReLU Flatten Preset Subgraph ConstantValue"
  ).split(" "),
);

/** What tells this graph from the others: the types of its nodes and layers that few have, those used most first. */
export function keyTypes(graph: unknown, most: number): string[] {
  const document = (graph ?? {}) as { nodes?: unknown; subgraphs?: unknown; presets?: unknown };
  const levels = [
    document,
    ...Object.values(document.subgraphs ?? {}),
    ...Object.values(document.presets ?? {}),
  ];
  const counts = new Map<string, number>();
  for (const level of levels as ({ nodes?: unknown } | null)[]) {
    for (const node of list(level?.nodes) as { type?: unknown }[]) {
      const type = String(node?.type);
      if (!COMMON.has(type)) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([type]) => type);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function boxAround(nodes: readonly SketchNode[]): Sketch["box"] {
  if (nodes.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  const x = Math.min(...nodes.map((node) => node.x)) - MARGIN;
  const y = Math.min(...nodes.map((node) => node.y)) - MARGIN;
  return {
    x,
    y,
    width: Math.max(...nodes.map((node) => node.x + NODE_WIDTH)) + MARGIN - x,
    height: Math.max(...nodes.map((node) => node.y + node.height)) + MARGIN - y,
  };
}
