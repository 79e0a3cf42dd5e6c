// What the server tells of a graph without running it: the shape at each output, and how much there is to train.
import type { GraphShapes } from "../../api/types";
import type { GraphDocument } from "./document";

export interface PortShapeFact {
  /** `null` stands for the size of the batch. */
  shape: readonly (number | null)[];
  dtype: string;
}

export interface ShapeBook {
  /** By the node's path and its port: `model/conv1>y`. */
  outputs: ReadonlyMap<string, PortShapeFact>;
  /** Values to train, by the node's path. */
  parameters: ReadonlyMap<string, number>;
}

export const NO_SHAPES: ShapeBook = { outputs: new Map(), parameters: new Map() };

export function shapeBook(answer: GraphShapes): ShapeBook {
  const outputs = new Map<string, PortShapeFact>();
  const parameters = new Map<string, number>();
  for (const node of answer.nodes) {
    for (const [port, shape] of Object.entries(node.outputs ?? {})) {
      outputs.set(`${node.node_id}>${port}`, { shape, dtype: "" });
    }
    if (node.parameters !== null && node.parameters !== undefined) {
      parameters.set(node.node_id, node.parameters);
    }
  }
  for (const wire of answer.wires) {
    if (wire.shape === null || wire.shape === undefined) continue;
    outputs.set(`${wire.source}>${wire.source_port}`, { shape: wire.shape, dtype: wire.dtype ?? "" });
  }
  return { outputs, parameters };
}

/** Numbers to train in the whole graph: those of modules and of layers that stand by themselves. */
export function totalParameters(book: ShapeBook): number {
  let sum = 0;
  // What stands inside a module is counted with it.
  for (const [path, count] of book.parameters) if (!path.includes("/")) sum += count;
  return sum;
}

/** Whether two documents say the same to a run: places on the canvas do not count. */
export function sameMeaning(a: GraphDocument, b: GraphDocument): boolean {
  if (a === b) return true;
  if (a.edges !== b.edges || a.subgraphs !== b.subgraphs || a.nodes.length !== b.nodes.length) return false;
  if (a.presets !== b.presets || a.settings !== b.settings) return false;
  return a.nodes.every((node, at) => {
    const other = b.nodes[at];
    return (
      other !== undefined && node.id === other.id && node.data === other.data && node.type === other.type
    );
  });
}

/** `n × 16 × 8 × 8`, closely written; what is not known is `n`. */
export function knownShapeText(shape: readonly (number | null)[]): string {
  return shape.length === 0 ? "1" : shape.map((size) => size ?? "n").join("×");
}

/** The fact of the output that a wire starts at. */
export function factOf(book: ShapeBook, path: string, port: string): PortShapeFact | undefined {
  return book.outputs.get(`${path}>${port}`);
}
