import { describe, expect, it } from "vitest";
import { bounds, formatValue, formRows, inRange, isDefault, preview, valueIn } from "./params";
import { catalog, node, param } from "./testing";

const train = catalog.get("Train");
if (train === undefined) throw new Error("the tests' catalog has no Train");
const names = (rows: ReturnType<typeof formRows>) =>
  rows.map((row) => (row.nested ? `> ${row.param.name}` : row.param.name));

describe("the form", () => {
  it("shows a conditional parameter right behind what it depends on, only while its condition holds", () => {
    expect(names(formRows(node("t", "Train"), train, false))).toEqual([
      "epochs",
      "checkpoint",
      "> monitor",
      "clip",
    ]);
    const none = node("t", "Train", { checkpoint: "none" });
    expect(names(formRows(none, train, false))).toEqual(["epochs", "checkpoint", "clip"]);
  });

  it("keeps advanced parameters apart", () => {
    expect(names(formRows(node("t", "Train"), train, true))).toEqual(["log_every"]);
  });

  it("takes the default where the file says nothing", () => {
    const epochs = param("epochs", "int", { default: 10 });
    expect(valueIn(node("t", "Train"), epochs)).toBe(10);
    expect(valueIn(node("t", "Train", { epochs: 3 }), epochs)).toBe(3);
    expect(isDefault(node("t", "Train", { epochs: 10 }), epochs)).toBe(true);
    expect(isDefault(node("t", "Train", { epochs: 3 }), epochs)).toBe(false);
  });
});

describe("ranges", () => {
  it("closes an open bound for whole numbers", () => {
    expect(bounds(param("n", "int", { min: 0, exclusive_min: true, max: 5, exclusive_max: true }))).toEqual({
      min: 1,
      max: 4,
    });
  });

  it.each([
    [0, false],
    [0.001, true],
    [1, true],
    [1.001, false],
  ])("of a fraction above 0 up to 1: %f is %s", (value, legal) => {
    expect(inRange(param("p", "float", { min: 0, exclusive_min: true, max: 1 }), value)).toBe(legal);
  });
});

describe("the preview on a node", () => {
  it("leaves out what is empty, and what is advanced and as it comes", () => {
    const shown = preview(node("t", "Train", { log_every: 5 }), train);
    expect(shown.map((row) => [row.param.name, row.choice?.label ?? row.value])).toEqual([
      ["epochs", "10"],
      ["checkpoint", "Best"],
      ["monitor", "loss"],
      ["log_every", "5"],
    ]);
    expect(preview(node("t", "Train"), train, 2)).toHaveLength(2);
  });

  it.each([
    [[16, 8, 8], "16×8×8"],
    [true, "✓"],
    [null, "–"],
    [0.003, "0.003"],
  ])("writes %j as %s", (value, text) => {
    expect(formatValue(value)).toBe(text);
  });
});
