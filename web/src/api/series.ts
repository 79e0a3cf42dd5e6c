// Metric points of one run, kept as columns that grow: a training of a million steps stays a few flat arrays.
import { fromJsonNumber } from "./numbers";
import type { StoredMetric } from "./types";

/** One metric's points in the order in which they were taken. Views: do not write into them. */
export interface Series {
  key: string;
  name: string;
  nodeId: string;
  /** How often the metric is taken: "step" or "epoch". */
  scope: string;
  length: number;
  steps: Float64Array;
  /** Epochs since the start; NaN where the point has none. */
  epochs: Float64Array;
  /** May be NaN or infinite: a loss that diverged. */
  values: Float64Array;
  /** Unix seconds. */
  times: Float64Array;
}

const FIRST_CAPACITY = 256;

function grown(column: Float64Array<ArrayBuffer>, capacity: number): Float64Array<ArrayBuffer> {
  const next = new Float64Array(capacity);
  next.set(column);
  return next;
}

class Columns {
  readonly key: string;
  readonly name: string;
  readonly nodeId: string;
  readonly scope: string;
  #length = 0;
  #steps = new Float64Array(FIRST_CAPACITY);
  #epochs = new Float64Array(FIRST_CAPACITY);
  #values = new Float64Array(FIRST_CAPACITY);
  #times = new Float64Array(FIRST_CAPACITY);

  constructor(key: string, name: string, nodeId: string, scope: string) {
    this.key = key;
    this.name = name;
    this.nodeId = nodeId;
    this.scope = scope;
  }

  push(point: StoredMetric): void {
    const at = this.#length;
    if (at === this.#steps.length) {
      const capacity = at * 2;
      this.#steps = grown(this.#steps, capacity);
      this.#epochs = grown(this.#epochs, capacity);
      this.#values = grown(this.#values, capacity);
      this.#times = grown(this.#times, capacity);
    }
    this.#steps[at] = point.step;
    this.#epochs[at] = point.epoch ?? Number.NaN;
    this.#values[at] = fromJsonNumber(point.value);
    this.#times[at] = point.ts ?? Number.NaN;
    this.#length = at + 1;
  }

  view(): Series {
    const length = this.#length;
    return {
      key: this.key,
      name: this.name,
      nodeId: this.nodeId,
      scope: this.scope,
      length,
      steps: this.#steps.subarray(0, length),
      epochs: this.#epochs.subarray(0, length),
      values: this.#values.subarray(0, length),
      times: this.#times.subarray(0, length),
    };
  }
}

export class SeriesTable {
  readonly #columns = new Map<string, Columns>();
  readonly #changed = new Set<Columns>();
  #views: readonly Series[] = [];

  push(points: readonly StoredMetric[]): void {
    for (const point of points) {
      const nodeId = point.node_id ?? "";
      const scope = point.scope ?? "step";
      const key = `${nodeId}/${point.name}/${scope}`;
      let columns = this.#columns.get(key);
      if (!columns) {
        columns = new Columns(key, point.name, nodeId, scope);
        this.#columns.set(key, columns);
      }
      columns.push(point);
      this.#changed.add(columns);
    }
  }

  /** All series in the order of their first point. The same array, and the same objects, as long as nothing changed. */
  views(): readonly Series[] {
    if (this.#changed.size === 0) return this.#views;
    const known = new Map(this.#views.map((series) => [series.key, series]));
    this.#views = [...this.#columns.values()].map((columns) =>
      this.#changed.has(columns) ? columns.view() : (known.get(columns.key) ?? columns.view()),
    );
    this.#changed.clear();
    return this.#views;
  }
}
