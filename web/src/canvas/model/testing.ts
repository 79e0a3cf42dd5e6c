// Definitions and documents for the tests of the model.
import type { NodeDefinition, ParamDefinition, PortDefinition } from "../../api/types";
import { catalogOf } from "./catalog";
import type { GraphDocument, GraphEdge, GraphNode } from "./document";

export function port(name: string, type: string, required = true): PortDefinition {
  return { name, label: name, type, required };
}

export function definition(type: string, change: Partial<NodeDefinition> = {}): NodeDefinition {
  return {
    type,
    title: type,
    category: "data",
    version: 1,
    summary: "",
    doc: "",
    icon: "",
    inputs: [],
    outputs: [],
    params: [],
    layer: false,
    ...change,
  };
}

export function param(name: string, kind: string, change: Partial<ParamDefinition> = {}): ParamDefinition {
  return { name, label: name, kind, ...change };
}

export function node(id: string, type: string, params: Record<string, unknown> = {}): GraphNode {
  return { id, type, position: { x: 0, y: 0 }, data: { params } };
}

/** `"a.out->b.in"` as a wire. */
export function wire(text: string): GraphEdge {
  const [from = "", to = ""] = text.split("->");
  const [source = "", sourceHandle = ""] = from.split(".");
  const [target = "", targetHandle = ""] = to.split(".");
  return { source, sourceHandle, target, targetHandle };
}

export function graph(
  nodes: GraphNode[],
  wires: string[] = [],
  change: Partial<GraphDocument> = {},
): GraphDocument {
  return { format_version: 1, name: "test", nodes, edges: wires.map(wire), ...change };
}

export const definitions = [
  definition("Data", { title: "Built-in data", outputs: [port("dataset", "dataset")] }),
  definition("Split", {
    inputs: [port("dataset", "dataset")],
    outputs: [port("train", "dataset"), port("test", "dataset")],
    params: [
      param("test_fraction", "float", {
        default: 0.2,
        min: 0,
        max: 1,
        exclusive_min: true,
        exclusive_max: true,
      }),
    ],
  }),
  definition("Net", {
    title: "Module",
    category: "module",
    outputs: [port("model", "model")],
    params: [param("subgraph", "subgraph")],
  }),
  definition("Train", {
    title: "Training loop",
    category: "training",
    summary: "Train a model on data.",
    inputs: [port("data", "dataset"), port("model", "model")],
    outputs: [port("model", "model")],
    params: [
      param("epochs", "int", { default: 10, min: 1, max: 10000 }),
      param("checkpoint", "choice", {
        default: "best",
        choices: [
          { value: "none", label: "None" },
          { value: "best", label: "Best" },
        ],
      }),
      param("monitor", "choice", { default: "loss", visible_if: { param: "checkpoint", equals: ["best"] } }),
      param("clip", "float", { default: null, optional: true, min: 0, exclusive_min: true }),
      param("log_every", "int", { default: 1, advanced: true }),
    ],
  }),
  definition("Print", { category: "views", inputs: [port("value", "any")] }),
  definition("BatchNorm2d", {
    title: "Batch norm 2d",
    layer: true,
    category: "layers",
    inputs: [port("x", "tensor")],
    outputs: [port("y", "tensor")],
  }),
];

export const catalog = catalogOf(definitions);
