import type { JsonNumber } from "./types";

/** A number as the API carries it: non-finite values travel as texts. Anything else that is not a number is NaN. */
export function fromJsonNumber(value: JsonNumber): number {
  if (typeof value === "number") return value;
  if (value === "Infinity") return Number.POSITIVE_INFINITY;
  if (value === "-Infinity") return Number.NEGATIVE_INFINITY;
  return Number.NaN;
}
