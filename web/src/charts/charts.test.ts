import { describe, expect, it } from "vitest";
import type { Series } from "../api";
import { endOf } from "./Curves";
import { axesFor, curvesOf, epochsByStep, partOf, toEpochs } from "./curves";
import { clockText, metricText, tickText } from "./format";
import { ascending, decimated, lastFinite, nearest, smoothed } from "./line-data";
import { contrast, readable } from "./palette";
import { extent, linearTicks, logTicks, padded, spread } from "./scales";

function series(name: string, scope: string, values: number[], more: Partial<Series> = {}): Series {
  const length = values.length;
  const epochOf = (i: number) => (scope === "epoch" ? i + 1 : Number.NaN);
  return {
    key: `train/${name}/${scope}`,
    name,
    nodeId: "train",
    scope,
    length,
    steps: Float64Array.from(values, (_, i) => (scope === "epoch" ? (i + 1) * 10 : i + 1)),
    epochs: Float64Array.from(values, (_, i) => epochOf(i)),
    values: Float64Array.from(values),
    times: Float64Array.from(values, (_, i) => 100 + i),
    ...more,
  };
}

describe("decimation", () => {
  const xs = Float64Array.from({ length: 100_000 }, (_, i) => i);
  const ys = Float64Array.from(xs, (x) => Math.sin(x / 5000));

  it("keeps every spike, in either direction", () => {
    const spiked = ys.slice();
    spiked[33_333] = 50;
    spiked[66_667] = -50;
    const { xs: kept, ys: values } = decimated({ xs, ys: spiked }, 0, 99_999, 300);
    expect(values.length).toBeLessThanOrEqual(300 * 4 + 8);
    expect(values[kept.indexOf(33_333)]).toBe(50);
    expect(values[kept.indexOf(66_667)]).toBe(-50);
    expect([kept[0], kept.at(-1)]).toEqual([0, 99_999]);
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
  });

  it("gives all points of a short stretch, with one neighbour on either side", () => {
    const { xs: kept } = decimated({ xs, ys }, 500, 505, 300);
    expect(kept).toEqual([499, 500, 501, 502, 503, 504, 505]);
  });

  it("marks values that are no number and breaks the line there", () => {
    const broken = { xs: [1, 2, 3, 4], ys: [1, Number.NaN, Number.POSITIVE_INFINITY, 2] };
    expect(decimated(broken, 1, 4, 100)).toEqual({
      xs: [1, 2, 3, 4],
      ys: [1, null, null, 2],
      crosses: [2, 3],
    });
  });

  it("does not lose a single NaN among many points", () => {
    const holed = ys.slice();
    holed[50_000] = Number.NaN;
    holed.fill(Number.NaN, 80_000, 81_000);
    const out = decimated({ xs, ys: holed }, 0, 99_999, 300);
    expect(out.crosses).toContain(50_000);
    expect(out.ys.some((y) => y === null)).toBe(true);
  });

  it("is empty without points", () => {
    expect(decimated({ xs: [], ys: [] }, 0, 1, 100)).toEqual({ xs: [], ys: [], crosses: [] });
  });
});

describe("points", () => {
  it("are put in order when a training began again", () => {
    expect(ascending({ xs: [1, 2, 3, 1, 2], ys: [9, 8, 7, 6, 5] })).toEqual({
      xs: Float64Array.from([1, 1, 2, 2, 3]),
      ys: Float64Array.from([9, 6, 8, 5, 7]),
    });
    const inOrder = { xs: [1, 1, 2], ys: [1, 2, 3] };
    expect(ascending(inOrder).xs).toBe(inOrder.xs);
  });

  it("are found by their nearest x", () => {
    expect([-5, 1.4, 1.6, 99].map((x) => nearest([0, 1, 2], x))).toEqual([0, 1, 2, 2]);
    expect(nearest([], 1)).toBe(-1);
  });

  it("end with the last finite value", () => {
    expect(lastFinite([1, 2, Number.NaN])).toBe(1);
    expect(lastFinite([Number.NaN])).toBe(-1);
  });
});

describe("smoothing", () => {
  it("does not draw the beginning towards zero", () => {
    expect([...smoothed([5, 5, 5], 0.9)].map((y) => Number(y.toFixed(9)))).toEqual([5, 5, 5]);
  });

  it("follows with the weight of the past", () => {
    // 0.5 · 0.5 · 0 + 0.5 · 1 over the weights 0.25 + 0.5
    expect(smoothed([0, 1], 0.5)[1]).toBeCloseTo(2 / 3);
  });

  it("passes over values that are no number", () => {
    const out = smoothed([1, Number.NaN, 1], 0.5);
    expect(out[1]).toBeNaN();
    expect(out[2]).toBeCloseTo(1);
  });
});

describe("scales", () => {
  it("leave out what a log axis cannot show", () => {
    expect(extent([0, -1, 0.1, 10, null, Number.NaN], "log")).toEqual([0.1, 10]);
    expect(extent([0, -1], "log")).toBeNull();
    expect(extent([0, -1, Number.POSITIVE_INFINITY], "linear")).toEqual([-1, 0]);
  });

  it("never have no height, and start at nought for what is never negative", () => {
    expect(padded(3, 3, "linear")).toEqual([2.7, 3.3]);
    expect(padded(0, 0, "linear")).toEqual([-1, 1]);
    expect(padded(0.01, 2, "linear")[0]).toBe(0);
    expect(padded(0.9, 1, "linear")[0]).toBeCloseTo(0.894);
    const [low, high] = padded(1, 1, "log");
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(1);
  });

  it("have round ticks", () => {
    expect(linearTicks(0, 400, 5)).toEqual([0, 100, 200, 300, 400]);
    expect(linearTicks(0.36, 1.02, 4)).toEqual([0.4, 0.6, 0.8, 1]);
    expect(linearTicks(1, 1, 4)).toEqual([]);
    expect(logTicks(0.03, 2.6, 5)).toEqual([0.03, 0.1, 0.3, 1]);
    expect(logTicks(1e-8, 1e4, 5)).toEqual([1e-6, 0.001, 1, 1000]);
    expect(logTicks(0.9, 1.3, 4)).toEqual([0.9, 1, 1.1, 1.2, 1.3]);
  });

  it("keep labels apart, in their order and inside", () => {
    expect(spread([10, 11, 12], 13, 5, 100)).toEqual([10, 23, 36]);
    expect(spread([98, 99], 13, 5, 100)).toEqual([87, 100]);
    expect(spread([50, 20], 13, 5, 100)).toEqual([50, 20]);
  });
});

describe("numbers in words", () => {
  it("have three digits, no more than needed", () => {
    expect([0.04128, 0.5, 12.345, 1284.4, 0, -0.25, 1.23e-7, 5e9].map((n) => metricText(n))).toEqual([
      "0.0413",
      "0.5",
      "12.3",
      "1,284",
      "0",
      "−0.25",
      "1.2e-7",
      "5e9",
    ]);
    expect(
      [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((n) => metricText(n)),
    ).toEqual(["NaN", "∞", "−∞"]);
  });

  it("are round on axes", () => {
    expect([0, 0.1, 1000, -2.5, 1e-5].map(tickText)).toEqual(["0", "0.1", "1,000", "−2.5", "1e-5"]);
    expect([5, 65, 3725].map(clockText)).toEqual(["0:05", "1:05", "1:02:05"]);
  });
});

describe("curves", () => {
  const all = [
    series("lr", "epoch", [0.1, 0.1]),
    series("loss", "step", [3, 2, 1]),
    series("train_loss", "epoch", [2, 1]),
    series("val_loss", "epoch", [2.5, 1.5]),
    series("val_accuracy", "epoch", [0.5, 0.9]),
    series("train_accuracy", "epoch", [0.6, 0.95]),
    series("test_accuracy", "epoch", [0.9], { nodeId: "evaluate", key: "evaluate/test_accuracy/epoch" }),
    series("macro_f1", "epoch", [0.9]),
  ];
  const curves = curvesOf(all, "step", 100, (part) => part.toUpperCase());

  it("put the parts of a metric together, loss and accuracy first, single values nowhere", () => {
    expect(curves.map((curve) => curve.name)).toEqual(["loss", "accuracy", "lr"]);
    expect(curves[1]?.lines.map((line) => line.label)).toEqual(["VAL", "TRAIN", "TEST"]);
  });

  it("show a metric per step only once", () => {
    expect(curves[0]?.lines.map((line) => [line.label, line.smooth])).toEqual([
      ["TRAIN", true],
      ["VAL", false],
    ]);
  });

  it("need no label for a line that is alone", () => {
    expect(curves[2]?.lines[0]?.label).toBe("");
  });

  it("give each part its look wherever it appears", () => {
    expect(curves.slice(0, 2).map((curve) => curve.lines.map((line) => line.look))).toEqual([
      [0, 1],
      [1, 0, 2],
    ]);
  });

  it("tell nodes apart that report the same metric", () => {
    const two = [series("loss", "step", [1, 2]), series("loss", "step", [1, 2], { nodeId: "b", key: "b" })];
    const [curve] = curvesOf(two, "step", 0, (part) => part);
    expect(curve?.lines.map((line) => line.label)).toEqual(["train train", "train b"]);
    expect(new Set(curve?.lines.map((line) => line.look)).size).toBe(2);
  });

  it("place steps between the epochs around them", () => {
    const known = epochsByStep(all);
    expect(known).toEqual({ steps: [0, 10, 20], epochs: [0, 1, 2] });
    expect([...toEpochs(Float64Array.from([5, 10, 15, 30, 5]), known)]).toEqual([0.5, 1, 1.5, 3, 0.5]);
    expect(axesFor(all)).toEqual(["step", "epoch", "time"]);
    expect(axesFor([series("loss", "step", [1])])).toEqual(["step", "time"]);
  });

  it("count time from the run's start", () => {
    const [curve] = curvesOf([series("loss", "step", [3, 2])], "time", 90, (part) => part);
    expect(Array.from(curve?.lines[0]?.xs ?? [])).toEqual([10, 11]);
  });

  it("know the parts of names", () => {
    expect(partOf("val_loss")).toEqual({ base: "loss", part: "val" });
    expect(partOf("loss")).toEqual({ base: "loss", part: "" });
    expect(partOf("val_")).toEqual({ base: "val_", part: "" });
    expect(partOf("validity")).toEqual({ base: "validity", part: "" });
  });
});

describe("labels at the ends of lines", () => {
  it("are readable in the colour of their line, in both themes", () => {
    const themes: [string, string, string[]][] = [
      ["#FFFFFF", "#1A1B1E", ["#134A86", "#CF5A0C", "#A64DC2", "#10906C", "#594D00", "#7E0F38"]],
      ["#1E2023", "#ECEBE7", ["#93C5FA", "#F2742B", "#AC74DA", "#25D99B", "#FFD24A", "#DE6A8B"]],
    ];
    for (const [ground, ink, colors] of themes) {
      const shown = colors.map((color) => readable(color, ground, ink));
      for (const color of shown) expect(contrast(color, ground), color).toBeGreaterThanOrEqual(4.5);
      expect(new Set(shown).size).toBe(colors.length);
      expect(shown).not.toContain(ink);
    }
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
    expect(readable("not a colour", "#FFFFFF", "#1A1B1E")).toBe("#1A1B1E");
  });
});

describe("the end of a live axis", () => {
  const at = (fraction: number) => ({
    node_id: "train",
    fraction,
    current: fraction * 4000,
    total: 4000,
    unit: "steps",
    epochs: 40,
  });

  it("is that of the data until a quarter is done, then that of the plan", () => {
    expect([0.1, 0.24, 0.25, 0.9, 1].map((fraction) => endOf("step", at(fraction)))).toEqual([
      undefined,
      undefined,
      4000,
      4000,
      undefined,
    ]);
    expect(endOf("epoch", at(0.5))).toBe(40);
    expect(endOf("time", at(0.5))).toBe(undefined);
  });
});
