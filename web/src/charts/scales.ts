// Ranges and ticks. Pure.

export type ScaleKind = "linear" | "log";

/** Lowest and highest finite value; on a log scale only positive ones count. `null` without any. */
export function extent(values: Iterable<number | null>, kind: ScaleKind): [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (kind === "log" && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

/** The range to draw for values between `low` and `high`: a little air, and never of no height. */
export function padded(low: number, high: number, kind: ScaleKind): [number, number] {
  if (kind === "log") {
    const factor = high / low < 1.2 ? 1.2 : (high / low) ** 0.06;
    return [low / factor, high * factor];
  }
  if (low === high) {
    const room = low === 0 ? 1 : Math.abs(low) * 0.1;
    return [low - room, high + room];
  }
  const room = (high - low) * 0.06;
  // A quantity that is never negative (a loss, an accuracy) does not get an axis below zero.
  return [low >= 0 && low < room * 2 ? 0 : low - room, high + room];
}

const STEPS = [1, 2, 2.5, 5, 10];

/** Round numbers from `low` to `high`, at most `most` of them. */
export function linearTicks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((candidate) => candidate * power >= rough * 0.999) ?? 10) * power;
  const ticks: number[] = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let n = first; n * step <= high + step * 1e-9; n++) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}

/** Ticks of a log axis: powers of ten, with what fits between them. Short ranges get the round numbers of a linear one. */
export function logTicks(low: number, high: number, most: number): number[] {
  const decades = Math.log10(high / low);
  if (!(decades > 0)) return [];
  if (decades < 0.7) return linearTicks(low, high, most).filter((tick) => tick > 0);
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = powers(low, high, factors, 1);
    if (ticks.length <= most) return ticks;
  }
  return powers(low, high, [1], Math.ceil(decades / most));
}

function powers(low: number, high: number, factors: readonly number[], every: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(12));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/** Moves label positions apart so that neighbours keep `gap`, inside `top` … `bottom`. Order and count stay. */
export function spread(positions: readonly number[], gap: number, top: number, bottom: number): number[] {
  const order = positions
    .map((_, i) => i)
    .sort((a, b) => (positions[a] as number) - (positions[b] as number));
  const out = positions.slice();
  let limit = top;
  for (const i of order) {
    out[i] = Math.max(out[i] as number, limit);
    limit = (out[i] as number) + gap;
  }
  limit = bottom;
  for (const i of order.reverse()) {
    out[i] = Math.min(out[i] as number, limit);
    limit = (out[i] as number) - gap;
  }
  return out;
}
