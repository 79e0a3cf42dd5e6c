// Numbers in nested lists of equal length, as a tensor parameter holds them, and what a grid does with them. Pure.

export type Grid = number | readonly Grid[];

/** The shape of nested lists; `null` when they hold something else than numbers, or are of unequal length. */
export function gridShape(value: unknown): number[] | null {
  if (typeof value === "number") return [];
  if (!Array.isArray(value)) return null;
  let inner: number[] | null = null;
  for (const [at, item] of value.entries()) {
    const shape = gridShape(item);
    if (shape === null) return null;
    if (at > 0 && shape.join() !== inner?.join()) return null;
    inner = shape;
  }
  return [value.length, ...(inner ?? [])];
}

/** The same numbers in another shape: what is too much goes, what is missing is 0. */
export function resized(value: Grid, shape: readonly number[]): Grid {
  const [length, ...rest] = shape;
  if (length === undefined) return typeof value === "number" ? value : firstOf(value);
  const items = typeof value === "number" ? [value] : value;
  return Array.from({ length }, (_, at) => resized(items[at] ?? 0, rest));
}

function firstOf(value: Grid): number {
  return typeof value === "number" ? value : value[0] === undefined ? 0 : firstOf(value[0]);
}

/** The part at some leading indices. */
export function partAt(value: Grid, path: readonly number[]): Grid {
  const [first, ...rest] = path;
  if (first === undefined || typeof value === "number") return value;
  return partAt(value[first] ?? 0, rest);
}

export function withPart(value: Grid, path: readonly number[], part: Grid): Grid {
  const [first, ...rest] = path;
  if (first === undefined || typeof value === "number") return part;
  return value.map((item, at) => (at === first ? withPart(item, rest, part) : item));
}

/** A part of at most two dimensions as rows of cells. */
export function rowsOf(part: Grid): number[][] {
  if (typeof part === "number") return [[part]];
  return part.every((item) => typeof item === "number")
    ? [part as number[]]
    : part.map((row) => (typeof row === "number" ? [row] : row.map((cell) => Number(cell))));
}

/** Rows back in the number of dimensions that the part had. */
export function fromRows(rows: readonly (readonly number[])[], dimensions: number): Grid {
  if (dimensions === 0) return rows[0]?.[0] ?? 0;
  if (dimensions === 1) return [...(rows[0] ?? [])];
  return rows.map((row) => [...row]);
}

/** `3 x 4`, `3×4` or `3, 4` as a shape; `null` for what is none or holds more than `most` numbers. */
export function readShape(text: string, most: number): number[] | null {
  const parts = text.split(/[\s,×x*]+/i).filter(Boolean);
  const shape = parts.map(Number);
  if (!shape.every((size) => Number.isInteger(size) && size >= 1)) return null;
  return shape.reduce((product, size) => product * size, 1) <= most ? shape : null;
}

/** Cells as a spreadsheet copies them; `null` when one of them is no number. */
export function readCells(text: string): number[][] | null {
  const lines = text.replace(/\r/g, "").replace(/\n+$/, "").split("\n");
  const rows = lines.map((line) =>
    line
      .trim()
      .split(line.includes("\t") ? "\t" : /[\s,;]+/)
      .map((cell) => (cell.trim() === "" ? Number.NaN : Number(cell))),
  );
  return rows.every((row) => row.every(Number.isFinite)) ? rows : null;
}

/** Rows with pasted ones put over them, as far as there is room. */
export function pasted(
  rows: readonly (readonly number[])[],
  row: number,
  column: number,
  cells: readonly (readonly number[])[],
): number[][] {
  return rows.map((line, r) => line.map((value, c) => cells[r - row]?.[c - column] ?? value));
}
