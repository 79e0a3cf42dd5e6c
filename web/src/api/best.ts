// Which epoch of a training was the best, by the rule that decides what the best checkpoint holds. Pure.
import { fromJsonNumber } from "./numbers";
import type { Series } from "./series";
import type { JsonNumber, StoredArtifact } from "./types";

export interface BestEpoch {
  /** The metric that decided, such as `val_accuracy`. */
  name: string;
  value: number;
  epoch: number;
}

/** Parameter `monitor` of a node of a graph document; "auto" without one. */
function monitorOf(graph: unknown, nodeId: string): string {
  const nodes = (graph as { nodes?: unknown } | null | undefined)?.nodes;
  if (!Array.isArray(nodes)) return "auto";
  const node = (nodes as { id?: unknown; data?: { params?: { monitor?: unknown } } }[]).find(
    (one) => one.id === nodeId,
  );
  return String(node?.data?.params?.monitor ?? "auto");
}

function deciding(has: (name: string) => boolean, monitor: string): string | null {
  const part = has("val_loss") ? "val" : "train";
  if (monitor !== "loss" && has(`${part}_accuracy`)) return `${part}_accuracy`;
  return has(`${part}_loss`) ? `${part}_loss` : null;
}

/** What the best checkpoint says of itself. */
function ofCheckpoint(artifacts: readonly StoredArtifact[], graph: unknown): BestEpoch | null {
  for (const { kind, meta, node_id: nodeId } of artifacts) {
    if (kind !== "checkpoint" || meta.role !== "best" || typeof meta.epoch !== "number") continue;
    const metrics = (meta.metrics ?? {}) as Record<string, JsonNumber>;
    const name = deciding((candidate) => candidate in metrics, monitorOf(graph, nodeId));
    if (name !== null) return { name, value: fromJsonNumber(metrics[name] as JsonNumber), epoch: meta.epoch };
  }
  return null;
}

/** The same rule over the points: accuracy first, a lower loss decides between equal ones, the first of equals stays. */
function ofSeries(series: readonly Series[], graph: unknown): BestEpoch | null {
  const perEpoch = series.filter((one) => one.scope === "epoch");
  const nodeId = perEpoch.find((one) => one.name === "val_loss" || one.name === "train_loss")?.nodeId;
  if (nodeId === undefined) return null;
  const own = new Map(perEpoch.filter((one) => one.nodeId === nodeId).map((one) => [one.name, one]));
  const name = deciding((candidate) => own.has(candidate), monitorOf(graph, nodeId));
  const decides = name === null ? undefined : own.get(name);
  if (name === null || decides === undefined) return null;
  const losses = own.get(name.startsWith("val_") ? "val_loss" : "train_loss");
  const lossAt = new Map<number, number>();
  for (let i = 0; i < (losses?.length ?? 0); i++) {
    lossAt.set(losses?.epochs[i] as number, losses?.values[i] as number);
  }
  const isLoss = decides === losses;
  let best: BestEpoch | null = null;
  let lowest: readonly [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let i = 0; i < decides.length; i++) {
    const epoch = decides.epochs[i] as number;
    const value = decides.values[i] as number;
    const loss = lossAt.get(epoch) ?? Number.NaN;
    if (!Number.isFinite(epoch) || !Number.isFinite(loss) || !Number.isFinite(value)) continue;
    const rank = [isLoss ? 0 : -value, loss] as const;
    if (rank[0] > lowest[0] || (rank[0] === lowest[0] && rank[1] >= lowest[1])) continue;
    lowest = rank;
    best = { name, value, epoch };
  }
  return best;
}

/** The best epoch of a run: the one that its best checkpoint holds when there is one, else by the same rule. */
export function bestEpoch(
  series: readonly Series[],
  artifacts: readonly StoredArtifact[],
  graph: unknown,
): BestEpoch | null {
  return ofCheckpoint(artifacts, graph) ?? ofSeries(series, graph);
}
