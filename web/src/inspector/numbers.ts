// Numbers of captured outputs: read from JSON, written, drawn. Pure.
import { fromJsonNumber } from "../api/numbers";
import type { JsonNumber } from "../api/types";
import { metricText } from "../charts/format";

/** The window of a tensor as rows of numbers; a one-dimensional tensor is one row. */
export function rowsOf(values: unknown): number[][] {
  if (!Array.isArray(values)) return [[number(values)]];
  if (values.every((item) => !Array.isArray(item))) return [values.map(number)];
  return values.map((row) => (Array.isArray(row) ? row.map(number) : [number(row)]));
}

function number(value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "number" || typeof value === "string"
    ? fromJsonNumber(value as JsonNumber)
    : Number.NaN;
}

/** Whole numbers as they are, others with four digits. */
export function cellText(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e7
    ? String(value).replace(/^-/, "−")
    : metricText(value, 4);
}

/** Lowest and highest finite number. */
export function rangeOf(rows: readonly (readonly number[])[]): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    for (const value of row) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

/** How strongly a number is shaded, 0 to 1: by its distance from 0 when there are numbers on both sides of it. */
export function shade(value: number, [low, high]: readonly [number, number]): number {
  if (!Number.isFinite(value)) return 0;
  if (low < 0 && high > 0) return Math.abs(value) / Math.max(-low, high);
  return high === low ? 0 : (value - low) / (high - low);
}

export type Drawing = "values" | "heat" | "line" | "scatter" | "picture";

/** Ways to look at a tensor, the one that says most at first. */
export function drawingsFor(shape: readonly number[], hasPicture: boolean): Drawing[] {
  const [rows = 1, columns = 1] = shape.slice(-2);
  if (shape.length === 0) return ["values"];
  if (shape.length === 1) return rows > 16 ? ["line", "values"] : ["values", "line"];
  const found: Drawing[] = [];
  // A picture of a few dots says less than its numbers.
  const large = rows >= 8 && columns >= 8;
  if (hasPicture && large && shape.length > 2) found.push("picture");
  if (columns === 2 && rows > 2) found.push("scatter");
  if (rows > 12 || columns > 12) found.push("heat", "values");
  else found.push("values", "heat");
  if (hasPicture && !found.includes("picture")) found.push("picture");
  return found;
}
