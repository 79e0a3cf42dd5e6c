// Payloads of a run's events, by event type. Fields may be added by later versions, so everything unknown is kept.
import type { JsonNumber, ParamValue, RunError } from "./types";

export type NodeStatus = "running" | "succeeded" | "reused" | "failed" | "skipped" | "cancelled";

export interface OutputSummary {
  type?: string;
  summary?: string;
  shape?: number[] | null;
  dtype?: string | null;
  [fact: string]: unknown;
}

export interface NodeStatusPayload {
  node_id: string;
  status: NodeStatus;
  duration_s?: number | null;
  error?: RunError | null;
  outputs?: Record<string, OutputSummary> | null;
}

export interface NodeProgress {
  node_id: string;
  fraction: number;
  current?: number | null;
  total?: number | null;
  unit?: string | null;
  text?: string | null;
  epoch?: number | null;
  epochs?: number | null;
  eta_s?: number | null;
  metrics?: Record<string, JsonNumber> | null;
}

export interface InnerNodePayload {
  node_id: string;
  path: string[];
  status: string;
  shape?: unknown;
  parameters?: number | null;
  [fact: string]: unknown;
}

export interface RunWarning {
  code: string;
  message: string;
  params?: Record<string, ParamValue>;
  node_id?: string | null;
}

export interface ExecutionStart {
  name?: string;
  device?: string;
  node_count?: number;
  worker_id?: string | null;
  attempt?: number;
}

/** The three events one of which ends every run. */
export const TERMINAL_EVENTS: ReadonlySet<string> = new Set([
  "execution_complete",
  "execution_error",
  "execution_stopped",
]);

/** A run's states that no longer change. */
export const ENDED_STATUSES: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "cancelled",
  "interrupted",
]);

/** The progress payload of a run row, if it has one. */
export function asProgress(value: unknown): NodeProgress | null {
  if (typeof value !== "object" || value === null) return null;
  const fraction = (value as { fraction?: unknown }).fraction;
  return typeof fraction === "number" ? (value as NodeProgress) : null;
}
