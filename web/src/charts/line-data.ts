// Preparing long metric series for a plot that is a few hundred pixels wide. Pure.

export interface Points {
  xs: ArrayLike<number>;
  ys: ArrayLike<number>;
}

/** Points for the plot. `null` in `ys` breaks the line; the x of values that are no finite number stand in `crosses`. */
export interface Prepared {
  xs: number[];
  ys: (number | null)[];
  crosses: number[];
}

/** The same points by ascending x. A training that was started again repeats its steps; a plot needs them in order. */
export function ascending({ xs, ys }: Points): Points {
  const count = xs.length;
  let sorted = true;
  for (let i = 1; i < count && sorted; i++) sorted = (xs[i] as number) >= (xs[i - 1] as number);
  if (sorted) return { xs, ys };
  const order = Array.from({ length: count }, (_, i) => i);
  order.sort((a, b) => (xs[a] as number) - (xs[b] as number) || a - b);
  return {
    xs: Float64Array.from(order, (i) => xs[i] as number),
    ys: Float64Array.from(order, (i) => ys[i] as number),
  };
}

/** First index whose x is at least `x`. */
export function lowerBound(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Exponential moving average with the weight of the past (0 = off), corrected for its start: the first values are not
 * drawn towards zero (as in Adam, Kingma and Ba 2015). Values that are no finite number pass through and are not averaged in.
 */
export function smoothed(ys: ArrayLike<number>, weight: number): Float64Array {
  const out = new Float64Array(ys.length);
  let average = 0;
  let share = 0;
  for (let i = 0; i < ys.length; i++) {
    const y = ys[i] as number;
    if (!Number.isFinite(y)) {
      out[i] = y;
      continue;
    }
    average = weight * average + (1 - weight) * y;
    share = weight * share + (1 - weight);
    out[i] = average / share;
  }
  return out;
}

/**
 * At most about four points per column between `from` and `to`: the first, the lowest, the highest and the last of each,
 * so that no spike is lost. One point on either side is kept, so that the line leaves the plot instead of ending in it.
 */
export function decimated({ xs, ys }: Points, from: number, to: number, columns: number): Prepared {
  const out: Prepared = { xs: [], ys: [], crosses: [] };
  const begin = Math.max(0, lowerBound(xs, from) - 1);
  const end = Math.min(xs.length, lowerBound(xs, to) + 1);
  const count = end - begin;
  if (count <= 0) return out;
  if (count <= columns * 4 || !(to > from)) {
    for (let i = begin; i < end; i++) push(out, xs[i] as number, ys[i] as number);
    return out;
  }
  const width = (to - from) / columns;
  let i = begin;
  while (i < end) {
    const column = Math.floor(((xs[i] as number) - from) / width);
    let first = -1;
    let last = -1;
    let low = -1;
    let high = -1;
    let broken = -1;
    for (; i < end && Math.floor(((xs[i] as number) - from) / width) === column; i++) {
      const y = ys[i] as number;
      if (!Number.isFinite(y)) {
        if (broken < 0) broken = i;
        continue;
      }
      if (first < 0) first = i;
      last = i;
      if (low < 0 || y < (ys[low] as number)) low = i;
      if (high < 0 || y > (ys[high] as number)) high = i;
    }
    if (broken >= 0) out.crosses.push(xs[broken] as number);
    if (first < 0) {
      out.xs.push(xs[broken] as number);
      out.ys.push(null);
      continue;
    }
    let before = -1;
    for (const at of [first, Math.min(low, high), Math.max(low, high), last]) {
      if (at === before) continue;
      before = at;
      out.xs.push(xs[at] as number);
      out.ys.push(ys[at] as number);
    }
  }
  return out;
}

function push(out: Prepared, x: number, y: number): void {
  out.xs.push(x);
  if (Number.isFinite(y)) {
    out.ys.push(y);
  } else {
    out.ys.push(null);
    out.crosses.push(x);
  }
}

/** Index of the point whose x is nearest to `x`, -1 without points. */
export function nearest(xs: ArrayLike<number>, x: number): number {
  if (xs.length === 0) return -1;
  const at = lowerBound(xs, x);
  if (at === 0) return 0;
  if (at === xs.length) return at - 1;
  return x - (xs[at - 1] as number) <= (xs[at] as number) - x ? at - 1 : at;
}

/** Index of the last finite value, -1 without one. */
export function lastFinite(ys: ArrayLike<number>): number {
  for (let i = ys.length - 1; i >= 0; i--) if (Number.isFinite(ys[i] as number)) return i;
  return -1;
}
