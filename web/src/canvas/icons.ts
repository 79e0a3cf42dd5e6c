// Which drawing stands for a node type. Definitions name icons of a larger set; what we have no drawing of falls back to
// its category's.
import type { NodeDefinition } from "../api/types";
import type { IconName } from "../ui/Icon";
import { icons } from "../ui/icons";

const BY_TYPE: Record<string, IconName> = {
  Conv2d: "grid",
  Linear: "linear",
  Flatten: "flatten",
  Dropout: "dropout",
  ModuleInput: "input",
  ModuleOutput: "output",
  Evaluate: "gauge",
  Print: "print",
  Subgraph: "layers",
  Preset: "pin",
};

const BY_NAME: Record<string, IconName> = {
  activity: "activation",
  "align-justify": "flatten",
  droplets: "dropout",
  gauge: "gauge",
  "log-in": "input",
  "log-out": "output",
  "minimize-2": "pool",
  "move-right": "linear",
  percent: "activation",
  "refresh-cw": "loop",
  scan: "grid",
  "sliders-horizontal": "norm",
  "trending-down": "optimizer",
  table: "database",
  terminal: "print",
};

const BY_CATEGORY: Record<string, IconName> = {
  data: "database",
  layers: "grid",
  activations: "activation",
  training: "loop",
  evaluation: "gauge",
  files: "file",
  flow: "graph",
  module: "layers",
  presets: "pin",
  show: "eye",
};

export function iconOf(definition: NodeDefinition | undefined): IconName {
  if (definition === undefined) return "info";
  const named = definition.icon in icons ? (definition.icon as IconName) : BY_NAME[definition.icon];
  return BY_TYPE[definition.type] ?? named ?? categoryIcon(definition.category);
}

export function categoryIcon(category: string): IconName {
  return BY_CATEGORY[category] ?? "graph";
}
