import { describe, expect, it } from "vitest";
import { bestEpoch } from "./best";
import { SeriesTable } from "./series";
import type { StoredArtifact } from "./types";

function epochs(points: Record<string, number[]>) {
  const table = new SeriesTable();
  for (const [name, values] of Object.entries(points)) {
    table.push(
      values.map((value, i) => ({
        name,
        value: Number.isFinite(value) ? value : "NaN",
        step: (i + 1) * 10,
        epoch: i + 1,
        scope: "epoch",
        node_id: "train",
        ts: i,
      })),
    );
  }
  return table.views();
}

const graph = (monitor: string) => ({ nodes: [{ id: "train", data: { params: { monitor } } }] });

describe("the best epoch", () => {
  it("has the best accuracy, and of equal ones the lowest loss", () => {
    const series = epochs({
      train_loss: [3, 2, 1, 0.5],
      val_loss: [0.9, 0.5, 0.4, 0.6],
      val_accuracy: [0.8, 0.95, 0.95, 0.95],
    });
    expect(bestEpoch(series, [], graph("auto"))).toEqual({ name: "val_accuracy", value: 0.95, epoch: 3 });
    expect(bestEpoch(series, [], null)?.epoch).toBe(3);
  });

  it("goes by the loss where the node is told to, and the first of equals stays", () => {
    const series = epochs({ val_loss: [0.9, 0.3, 0.3], val_accuracy: [0.8, 0.7, 0.9] });
    expect(bestEpoch(series, [], graph("loss"))).toEqual({ name: "val_loss", value: 0.3, epoch: 2 });
  });

  it("goes by the training data where nothing is kept back, and skips what diverged", () => {
    const series = epochs({ train_loss: [0.9, 0.3, Number.NaN], train_accuracy: [0.5, 0.6, 0.9] });
    expect(bestEpoch(series, [], graph("auto"))).toEqual({ name: "train_accuracy", value: 0.6, epoch: 2 });
    expect(bestEpoch(epochs({ lr: [1, 2] }), [], graph("auto"))).toBe(null);
  });

  it("is what the checkpoint holds when there is one", () => {
    const series = epochs({ val_loss: [0.9, 0.3], val_accuracy: [0.8, 0.7] });
    const checkpoint = (role: string, epoch: number) =>
      ({
        kind: "checkpoint",
        node_id: "train",
        meta: { role, epoch, metrics: { val_loss: 0.2, val_accuracy: 0.75 } },
      }) as unknown as StoredArtifact;
    const artifacts = [checkpoint("last", 9), checkpoint("best", 7)];
    expect(bestEpoch(series, artifacts, graph("auto"))).toEqual({
      name: "val_accuracy",
      value: 0.75,
      epoch: 7,
    });
    expect(bestEpoch(series, artifacts, graph("loss"))).toMatchObject({ name: "val_loss", value: 0.2 });
  });
});
