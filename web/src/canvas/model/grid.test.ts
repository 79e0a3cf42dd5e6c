import { describe, expect, it } from "vitest";
import {
  fromRows,
  type Grid,
  gridShape,
  partAt,
  pasted,
  readCells,
  readShape,
  resized,
  rowsOf,
  withPart,
} from "./grid";

describe("numbers in nested lists", () => {
  it("have a shape when all lists of a depth are of one length", () => {
    expect(gridShape(3)).toEqual([]);
    expect(gridShape([1, 2, 3])).toEqual([3]);
    expect(gridShape([[1, 2], [3, 4], [5, 6]])).toEqual([3, 2]); // biome-ignore format: one line reads as rows
    expect(gridShape([[1], [2, 3]])).toBeNull();
    expect(gridShape([1, "2"])).toBeNull();
    expect(gridShape([[1], 2])).toBeNull();
  });

  it("take another shape without losing what fits in it", () => {
    expect(resized([[1, 2], [3, 4]], [2, 3])).toEqual([[1, 2, 0], [3, 4, 0]]); // biome-ignore format: as rows
    expect(resized([[1, 2], [3, 4]], [1, 1])).toEqual([[1]]); // biome-ignore format: as rows
    expect(resized([1, 2, 3], [])).toBe(1);
    expect(resized(7, [2])).toEqual([7, 0]);
    expect(resized([1, 2], [2, 2])).toEqual([[1, 0], [2, 0]]); // biome-ignore format: as rows
  });

  it("are read and written part by part", () => {
    const cube: Grid = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]; // biome-ignore format: as rows
    expect(partAt(cube, [1])).toEqual([[5, 6], [7, 8]]); // biome-ignore format: as rows
    expect(withPart(cube, [0], [[0, 0], [0, 0]])).toEqual([[[0, 0], [0, 0]], [[5, 6], [7, 8]]]); // biome-ignore format: as rows
    for (const value of [
      4,
      [1, 2],
      [
        [1, 2],
        [3, 4],
      ],
    ] as Grid[]) {
      expect(fromRows(rowsOf(value), gridShape(value)?.length ?? -1)).toEqual(value);
    }
  });

  it("take a shape as people write it", () => {
    expect(readShape("3 x 4", 100)).toEqual([3, 4]);
    expect(readShape("2×3×4", 100)).toEqual([2, 3, 4]);
    expect(readShape("20, 20", 100)).toBeNull();
    expect(readShape("3 by 4", 100)).toBeNull();
    expect(readShape("0", 100)).toBeNull();
  });

  it("take what a spreadsheet copies, and refuse words", () => {
    expect(readCells("1\t2\n3\t-4.5\n")).toEqual([[1, 2], [3, -4.5]]); // biome-ignore format: as rows
    expect(readCells("1, 2, 3")).toEqual([[1, 2, 3]]);
    expect(readCells("1\tmany")).toBeNull();
    expect(readCells("1\t\t2")).toBeNull();
    expect(pasted([[0, 0, 0], [0, 0, 0]], 0, 1, [[1, 2, 3], [4, 5, 6]])).toEqual([[0, 1, 2], [0, 4, 5]]); // biome-ignore format: as rows
  });
});
