// What every field of a parameter form is given.
import type { ParamDefinition } from "../../../api/types";
import type { GraphNode } from "../../model/document";

export interface FieldProps {
  /** The nodes whose parameter it edits: several when several are selected. */
  nodes: readonly GraphNode[];
  param: ParamDefinition;
  /** The value in force; of several nodes, the first one's. */
  value: unknown;
  /** Whether the nodes have different values. */
  mixed: boolean;
  label: string;
  describedBy: string | undefined;
  invalid: boolean;
  /** Changes with the same `merge` one after the other are one step to undo. */
  change: (next: unknown, merge?: string) => void;
  /** Told when something was typed that cannot be a value. */
  onRefused: (refused: boolean) => void;
}
