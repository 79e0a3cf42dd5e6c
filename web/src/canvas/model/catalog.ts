// The node definitions that the server offers, by type.
import type { NodeDefinition, PortDefinition } from "../../api/types";

export type Catalog = ReadonlyMap<string, NodeDefinition>;

export function catalogOf(definitions: readonly NodeDefinition[]): Catalog {
  return new Map(definitions.map((definition) => [definition.type, definition]));
}

export type PortType = "tensor" | "dataset" | "model" | "optimizer" | "loss" | "metrics" | "value" | "any";

const PORT_TYPES: ReadonlySet<string> = new Set([
  "tensor",
  "dataset",
  "model",
  "optimizer",
  "loss",
  "metrics",
  "value",
  "any",
]);

/** Types that extensions bring are drawn as `any`. */
export function portType(name: string): PortType {
  return PORT_TYPES.has(name) ? (name as PortType) : "any";
}

export function fits(source: string, target: string): boolean {
  return source === target || source === "any" || target === "any";
}

export function inputOf(definition: NodeDefinition | undefined, name: string): PortDefinition | undefined {
  return definition?.inputs.find((port) => port.name === name);
}

export function outputOf(definition: NodeDefinition | undefined, name: string): PortDefinition | undefined {
  return definition?.outputs.find((port) => port.name === name);
}
