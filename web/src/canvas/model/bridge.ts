// A node between two ports that do not fit each other.
import type { Catalog } from "./catalog";
import type { Entry } from "./entries";
import { placeable } from "./search";

export interface Bridge {
  entry: Entry;
  input: string;
  output: string;
}

/** What leads from one type of data to another where there is a choice. */
const KNOWN: Readonly<Record<string, string>> = {
  "dataset>tensor": "DatasetToTensors",
  "tensor>dataset": "TensorsToDataset",
  "model>tensor": "Predict",
  "model>metrics": "Evaluate",
  "dataset>metrics": "Evaluate",
  "tensor>metrics": "ClassScores",
  "dataset>model": "TrainingLoop",
  "optimizer>model": "TrainingLoop",
  "loss>model": "TrainingLoop",
  "loss>value": "ComputeLoss",
};

/** The node that would make a wire of type `gives` fit a port that takes `takes`; `null` when there is none. */
export function bridge(catalog: Catalog, gives: string, takes: string, insideModule: boolean): Bridge | null {
  const known = KNOWN[`${gives}>${takes}`];
  let best: Bridge | null = null;
  for (const definition of catalog.values()) {
    if (!placeable(definition, insideModule)) continue;
    const input = definition.inputs.find((port) => port.type === gives);
    const output = definition.outputs.find((port) => port.type === takes);
    if (input === undefined || output === undefined) continue;
    const entry: Entry = { id: definition.type, definition, params: {}, brings: null };
    const found = { entry, input: input.name, output: output.name };
    if (definition.type === known) return found;
    // Else only what needs nothing but the one wire is a help.
    const alone = definition.inputs.every((port) => port === input || port.required === false);
    if (alone && best === null) best = found;
  }
  return best;
}
