// What people put next, for the top of the quick search.
import type { GraphDocument, GraphNode, Level } from "./document";

/** By the node that a wire comes from. */
const AFTER: Readonly<Record<string, readonly string[]>> = {
  ModuleInput: ["Conv2d", "Flatten", "Linear", "Embedding"],
  Conv1d: ["ReLU", "BatchNorm1d", "MaxPool1d"],
  Conv2d: ["ReLU", "BatchNorm2d", "MaxPool2d"],
  Conv3d: ["ReLU", "BatchNorm3d", "MaxPool3d"],
  BatchNorm1d: ["ReLU", "Dropout"],
  BatchNorm2d: ["ReLU", "MaxPool2d", "Conv2d"],
  MaxPool2d: ["Conv2d", "Flatten", "Dropout2d"],
  AvgPool2d: ["Conv2d", "Flatten"],
  AdaptiveAvgPool2d: ["Flatten"],
  Flatten: ["Linear", "Dropout"],
  Linear: ["ReLU", "GELU", "Dropout", "LayerNorm", "ModuleOutput"],
  Dropout: ["Linear", "ModuleOutput"],
  Embedding: ["LearnedPositions", "SinusoidalPositions", "LSTM", "TransformerEncoder"],
  LSTM: ["SelectStep", "Linear"],
  GRU: ["SelectStep", "Linear"],
  TransformerEncoder: ["MeanOver", "SelectStep", "Linear"],
  TrainTestSplit: ["DataLoader", "NormalizeData", "TrainingLoop", "Evaluate"],
  DataLoader: ["TrainingLoop"],
  TrainingLoop: ["Evaluate", "Predict", "Print"],
  Evaluate: ["ConfusionMatrix", "Print"],
};

/** By the type that goes over the wire, for nodes that the list above does not name. */
const FOR_TYPE: Readonly<Record<string, readonly string[]>> = {
  dataset: ["TrainTestSplit", "DataLoader", "TrainingLoop"],
  model: ["TrainingLoop", "Evaluate", "Predict"],
  optimizer: ["TrainingLoop", "CosineAnnealingLR", "LinearWarmup"],
  loss: ["TrainingLoop", "Evaluate"],
  metrics: ["Print"],
  value: ["Print"],
  tensor: ["ReLU", "Linear", "Conv2d", "Dropout", "Add"],
};

/** By the type that an input wants. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  dataset: ["DataLoader", "TrainTestSplit", "SklearnDataset"],
  model: ["Module", "TrainingLoop"],
  optimizer: ["AdamW", "SGD", "Adam"],
  loss: ["CrossEntropyLoss", "MSELoss"],
  tensor: ["ReLU", "Linear", "Conv2d"],
};

/** Types that often meet this end of a wire, the likeliest first: what the document does itself comes before the list. */
export function oftenNext(
  doc: GraphDocument,
  level: Level,
  wire: { node: string; type: string; end: "source" | "target" },
): string[] {
  const type = level.nodes.find((node) => node.id === wire.node)?.type ?? "";
  const listed =
    wire.end === "source" ? (AFTER[type] ?? FOR_TYPE[wire.type] ?? []) : (BEFORE[wire.type] ?? []);
  const counts = new Map<string, number>();
  for (const one of [doc, ...Object.values(doc.subgraphs ?? {})]) {
    const nodes = new Map<string, GraphNode>(one.nodes.map((node) => [node.id, node]));
    for (const edge of one.edges) {
      const [near, far] = wire.end === "source" ? [edge.source, edge.target] : [edge.target, edge.source];
      if (nodes.get(near)?.type !== type) continue;
      const next = nodes.get(far)?.type;
      if (next !== undefined) counts.set(next, (counts.get(next) ?? 0) + 1);
    }
  }
  const own = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return [...new Set([...own, ...listed])].slice(0, 6);
}
