// The five facts at the head of a run. Pure.
import {
  bestEpoch,
  fromJsonNumber,
  type LiveRun,
  type RunDetail,
  type Series,
  type StoredArtifact,
} from "../api";
import { headline } from "./run-words";

export interface Best {
  name: string;
  value: number;
  /** Where the best value was; absent when only the last value is known. */
  epoch?: number;
  step?: number;
}

/** Whether lower is better. */
function isCost(name: string): boolean {
  return /loss|error|perplexity|mae|mse/.test(name);
}

/** The best value of the headline metric: its place is told when the points are here. */
export function bestOf(
  run: RunDetail,
  live: LiveRun | undefined,
  artifacts: readonly StoredArtifact[] = [],
): Best | null {
  const head = headline(run.latest_metrics);
  if (head === null) return null;
  // What the best checkpoint holds is the best, here as on the canvas.
  const kept = bestEpoch(live?.series ?? [], artifacts, run.graph);
  if (kept?.name === head.name) return kept;
  const series = live?.series.find((one: Series) => one.name === head.name);
  if (!series || series.length < 2) return head;
  const sign = isCost(head.name) ? -1 : 1;
  let best = -1;
  for (let i = 0; i < series.length; i++) {
    const value = series.values[i] as number;
    if (!Number.isFinite(value)) continue;
    if (best < 0 || sign * value > sign * (series.values[best] as number)) best = i;
  }
  if (best < 0) return head;
  const epoch = series.epochs[best] as number;
  const place = Number.isFinite(epoch) ? { epoch } : { step: series.steps[best] as number };
  return { name: head.name, value: series.values[best] as number, ...place };
}

/** Largest peak over the devices, in bytes. */
export function peakBytes(run: RunDetail): number | null {
  const peaks = Object.values(run.peak_memory?.devices ?? {});
  return peaks.length === 0 ? null : Math.max(...peaks);
}

export function totalSize(artifacts: readonly StoredArtifact[]): number {
  return artifacts.reduce((sum, artifact) => sum + (artifact.size ?? 0), 0);
}

/** A fact of the machine as one line. */
export function factText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) return value.length === 0 ? "–" : value.map(factText).join(", ");
  if (typeof value === "object") {
    const entries = Object.entries(value as Record<string, unknown>);
    return entries.length === 0 ? "–" : entries.map(([key, item]) => `${key}: ${factText(item)}`).join(", ");
  }
  return String(value);
}

/** What a checkpoint or picture says of itself beside its size. */
export function artifactNote(artifact: StoredArtifact): { epoch?: number; note?: string } {
  const { meta } = artifact;
  if (typeof meta.epoch === "number") return { epoch: meta.epoch };
  for (const key of ["val_accuracy", "accuracy", "val_loss", "loss"]) {
    const value = meta[key];
    if (typeof value === "number" || typeof value === "string") {
      return { note: `${key.replaceAll("_", " ")} ${fromJsonNumber(value).toPrecision(3)}` };
    }
  }
  return {};
}
