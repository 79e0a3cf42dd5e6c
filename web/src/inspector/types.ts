// What the server tells of captured outputs. Numbers that JSON does not have come as "NaN", "Infinity" and "-Infinity".
import type { JsonNumber } from "../api/types";

export interface Source {
  node_id: string;
  port: string;
}

export interface CapturedOutput extends Source {
  type: string;
  facts: { summary?: string; shape?: unknown; dtype?: unknown; [fact: string]: unknown };
  /** Bytes. */
  size: number;
}

export interface TraceInfo {
  node_id: string;
  kind: string;
  kept: number;
  first: number | null;
  last: number | null;
  values: string[];
  gradients: string[];
  /** Parameters whose last gradient is there as a whole. */
  whole_gradients: string[];
  left_out: number;
  size: number;
}

export interface OutputList {
  run_id: string;
  kept: boolean;
  outputs: CapturedOutput[];
  inputs: Record<string, Record<string, Source>>;
  origins: Record<string, Record<string, Source>>;
  traces?: TraceInfo[];
}

export interface OutputStatistics {
  count: number;
  finite: number;
  nan: number;
  infinite: number;
  zero: number;
  mean?: JsonNumber;
  std?: JsonNumber;
  min?: JsonNumber;
  max?: JsonNumber;
  histogram?: number[];
}

export interface Picture {
  width: number;
  height: number;
  channels: number;
  /** Sizes of the dimensions that an index chooses from. */
  leading: number[];
}

export interface OutputAbout {
  run_id: string;
  output: CapturedOutput;
  statistics: OutputStatistics | null;
  picture: Picture | null;
}

export interface OutputSlice {
  shape: number[];
  dtype: string;
  index: number[];
  start: number[];
  /** Nested lists of the last two dimensions; null for what is no tensor. */
  values: unknown;
  text: string;
}

export interface TensorFacts {
  count: number;
  mean: JsonNumber;
  std: JsonNumber;
  min: JsonNumber;
  max: JsonNumber;
  /** Share of zeros, 0 to 1. */
  zero: JsonNumber;
  norm: JsonNumber;
  nonfinite?: number;
  histogram?: number[];
}

export interface TraceStep {
  step: number;
  epoch?: JsonNumber | null;
  values?: Record<string, TensorFacts>;
  gradients?: Record<string, TensorFacts>;
}

export interface Trace {
  info: TraceInfo;
  steps: TraceStep[];
}

export interface OutputGradient {
  run_id: string;
  node_id: string;
  parameter: string;
  statistics: OutputStatistics;
  part: OutputSlice;
}

/** Which part of a tensor: an index of its leading dimensions, and a window into its last two. */
export interface Window {
  index: readonly number[];
  start: readonly number[];
  size: readonly number[];
}
