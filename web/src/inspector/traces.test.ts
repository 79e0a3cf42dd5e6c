import { describe, expect, it } from "vitest";
import { traceLines } from "./traces";
import type { TensorFacts, Trace } from "./types";

const facts = (norm: number, change: Partial<TensorFacts> = {}): TensorFacts => ({
  count: 4,
  mean: 0,
  std: 1,
  min: -1,
  max: 1,
  zero: 0.5,
  norm,
  ...change,
});

const trace: Trace = {
  info: {
    node_id: "train",
    kind: "training",
    kept: 2,
    first: 1,
    last: 2,
    values: ["conv", "late"],
    gradients: ["conv.weight"],
    whole_gradients: [],
    left_out: 0,
    size: 0,
  },
  steps: [
    { step: 1, values: { conv: facts(2) }, gradients: { "conv.weight": facts(0.5) } },
    { step: 2, values: { conv: facts(3, { nonfinite: 1 }), late: facts(7) } },
  ],
};

describe("traceLines", () => {
  it("has a line for each name, with points where it was there", () => {
    const [conv, late] = traceLines(trace, "values", "norm", ["conv", "late"]);
    expect(conv?.xs).toEqual([1, 2]);
    expect(conv?.ys).toEqual([2, Number.NaN]);
    expect(late?.xs).toEqual([2]);
    expect(late?.look).toBe(1);
  });

  it("tells gradients by parameter, and the share of zeros whatever else there is", () => {
    expect(traceLines(trace, "gradients", "norm", ["conv.weight"])[0]?.ys).toEqual([0.5]);
    expect(traceLines(trace, "values", "zero", ["conv"])[0]?.ys).toEqual([0.5, 0.5]);
  });
});
