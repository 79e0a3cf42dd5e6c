// Parameters of a node as its definition describes them: values, what is shown, what is legal, how it reads.
import type { Choice, NodeDefinition, ParamDefinition } from "../../api/types";
import type { GraphNode } from "./document";
import { gridShape } from "./grid";

/** The value in force: the file's, else the default. */
export function valueIn(node: GraphNode, param: ParamDefinition): unknown {
  const own = node.data.params[param.name];
  return own === undefined ? (param.default ?? null) : own;
}

export function isDefault(node: GraphNode, param: ParamDefinition): boolean {
  const own = node.data.params[param.name];
  return own === undefined || JSON.stringify(own) === JSON.stringify(param.default ?? null);
}

/** Whether a conditional parameter has its condition met (and so on for the parameter it depends on). */
export function isVisible(node: GraphNode, definition: NodeDefinition, param: ParamDefinition): boolean {
  const condition = param.visible_if;
  if (condition === null || condition === undefined) return true;
  const other = definition.params.find((candidate) => candidate.name === condition.param);
  if (other === undefined || other === param) return true;
  const value = valueIn(node, other);
  return condition.equals.some((wanted) => wanted === value) && isVisible(node, definition, other);
}

export interface FormRow {
  param: ParamDefinition;
  /** Depends on the row above it: drawn indented. */
  nested: boolean;
}

/** The rows of the form, those that depend on another right behind it. */
export function formRows(node: GraphNode, definition: NodeDefinition, advanced: boolean): FormRow[] {
  const shown = definition.params.filter(
    (param) => (param.advanced ?? false) === advanced && isVisible(node, definition, param),
  );
  const isNested = (param: ParamDefinition) =>
    param.visible_if !== null &&
    param.visible_if !== undefined &&
    shown.some((other) => other.name === param.visible_if?.param);
  const rows: FormRow[] = [];
  const add = (param: ParamDefinition, nested: boolean) => {
    rows.push({ param, nested });
    for (const child of shown) if (child.visible_if?.param === param.name) add(child, true);
  };
  for (const param of shown) if (!isNested(param)) add(param, false);
  return rows;
}

/** The smallest and largest legal whole number or number; `undefined` where there is no bound. */
export function bounds(param: ParamDefinition): { min: number | undefined; max: number | undefined } {
  const integer = param.kind === "int";
  let min = param.min ?? undefined;
  let max = param.max ?? undefined;
  // An open bound is a closed one for whole numbers; a fraction may come as near as it likes.
  if (integer && min !== undefined && param.exclusive_min === true) min += 1;
  if (integer && max !== undefined && param.exclusive_max === true) max -= 1;
  return { min, max };
}

/** Whether a number may stand there. */
export function inRange(param: ParamDefinition, value: number): boolean {
  const { min, max } = bounds(param);
  if (min !== undefined && (value < min || (param.exclusive_min === true && value === param.min)))
    return false;
  return max === undefined || !(value > max || (param.exclusive_max === true && value === param.max));
}

/** A value as it reads on a node. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) {
    // Nested lists are told by their shape, a list of sizes by the sizes.
    const nested = value.some((item) => Array.isArray(item));
    return nested ? (gridShape(value)?.join("×") ?? "…") : value.map((item) => String(item)).join("×");
  }
  if (typeof value === "boolean") return value ? "✓" : "–";
  return typeof value === "object" ? "…" : String(value);
}

const HIDDEN: ReadonlySet<string> = new Set(["subgraph", "preset", "secret", "code"]);

export interface Preview {
  param: ParamDefinition;
  /** Set when the value is one of the parameter's choices: its name is what people read. */
  choice: Choice | null;
  value: string;
}

/** The few parameters that a node shows on the canvas. */
export function preview(node: GraphNode, definition: NodeDefinition, most = 4): Preview[] {
  return definition.params
    .filter(
      (param) =>
        !HIDDEN.has(param.kind) &&
        (!(param.advanced ?? false) || !isDefault(node, param)) &&
        isVisible(node, definition, param) &&
        // An empty optional parameter says nothing.
        valueIn(node, param) !== null,
    )
    .slice(0, most)
    .map((param) => {
      const value = valueIn(node, param);
      const choice = param.choices?.find((candidate) => candidate.value === value) ?? null;
      return { param, choice, value: formatValue(value) };
    });
}
