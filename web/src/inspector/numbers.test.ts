import { describe, expect, it } from "vitest";
import { cellText, drawingsFor, rangeOf, rowsOf, shade } from "./numbers";

describe("numbers of captured outputs", () => {
  it("come as rows, with what JSON has no number for", () => {
    expect(rowsOf([["NaN", 1], ["-Infinity", true]])).toEqual([[Number.NaN, 1], [Number.NEGATIVE_INFINITY, 1]]); // biome-ignore format: as rows
    expect(rowsOf([1, 2])).toEqual([[1, 2]]);
    expect(rowsOf(3)).toEqual([[3]]);
  });

  it("are written shortly, and whole numbers whole", () => {
    expect([26, -3, 0.123456, Number.NaN, 1e-9].map(cellText)).toEqual(["26", "−3", "0.1235", "NaN", "1e-9"]);
  });

  it("are shaded from the lowest to the highest, around 0 when it lies between", () => {
    const range = rangeOf([[0, 4], [Number.NaN, 2]]); // biome-ignore format: as rows
    expect(range).toEqual([0, 4]);
    expect(shade(2, range)).toBe(0.5);
    expect(shade(-2, [-4, 1])).toBe(0.5);
    expect(shade(Number.NaN, range)).toBe(0);
    expect(shade(3, [3, 3])).toBe(0);
  });

  it("are drawn in the way that says most first", () => {
    expect(drawingsFor([], false)).toEqual(["values"]);
    expect(drawingsFor([100], false)[0]).toBe("line");
    expect(drawingsFor([10, 10], true)).toEqual(["values", "heat", "picture"]);
    expect(drawingsFor([200, 2], false)[0]).toBe("scatter");
    expect(drawingsFor([32, 3, 28, 28], true)[0]).toBe("picture");
    expect(drawingsFor([2, 2, 2], true)).toEqual(["values", "heat", "picture"]);
  });
});
