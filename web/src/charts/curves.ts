// From a run's metric series to charts: which curves belong together, and along which axis. Pure.
import type { Series } from "../api";
import type { ChartLine } from "./plot";

export type XAxis = "step" | "epoch" | "time";

export interface Curve {
  /** The metric without its part: `loss` for `loss` and `val_loss`. */
  name: string;
  lines: ChartLine[];
}

const PARTS = ["train", "val", "test"] as const;
const ORDER = ["loss", "accuracy"];
const LAST = ["lr", "learning_rate", "samples_per_second", "grad_norm"];

/** `val_loss` is the `val` part of `loss`. What has no part comes from the training data. */
export function partOf(name: string): { base: string; part: string } {
  for (const part of PARTS) {
    if (name.startsWith(`${part}_`) && name.length > part.length + 1) {
      return { base: name.slice(part.length + 1), part };
    }
  }
  return { base: name, part: "" };
}

function rank(name: string): number {
  const early = ORDER.indexOf(name);
  if (early >= 0) return early;
  const late = LAST.indexOf(name);
  return late < 0 ? ORDER.length : ORDER.length + 1 + late;
}

/** Steps and epochs of the points that have both, to place points that only know their step. */
export function epochsByStep(series: readonly Series[]): { steps: number[]; epochs: number[] } {
  const known = new Map<number, number>([[0, 0]]);
  for (const one of series) {
    if (one.scope !== "epoch") continue;
    for (let i = 0; i < one.length; i++) {
      const epoch = one.epochs[i] as number;
      if (Number.isFinite(epoch)) known.set(one.steps[i] as number, epoch);
    }
  }
  const steps = [...known.keys()].sort((a, b) => a - b);
  return { steps, epochs: steps.map((step) => known.get(step) as number) };
}

/** Epochs of `steps` by straight lines between the known ones, going on as at the end. */
export function toEpochs(steps: Float64Array, known: { steps: number[]; epochs: number[] }): Float64Array {
  const out = new Float64Array(steps.length);
  let at = 1;
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as number;
    if (at > 1 && step < (known.steps[at - 1] as number)) at = 1;
    while (at < known.steps.length - 1 && (known.steps[at] as number) < step) at++;
    const [s0, s1] = [known.steps[at - 1] as number, known.steps[at] as number];
    const [e0, e1] = [known.epochs[at - 1] as number, known.epochs[at] as number];
    out[i] = e0 + ((step - s0) * (e1 - e0)) / (s1 - s0);
  }
  return out;
}

function xsOf(
  series: Series,
  axis: XAxis,
  startedAt: number,
  known: { steps: number[]; epochs: number[] },
): Float64Array {
  if (axis === "time") return Float64Array.from(series.times, (time) => time - startedAt);
  if (axis === "epoch" && known.steps.length > 1) return toEpochs(series.steps, known);
  return series.steps;
}

/** Which axes make sense for these series. */
export function axesFor(series: readonly Series[]): XAxis[] {
  return epochsByStep(series).steps.length > 1 ? ["step", "epoch", "time"] : ["step", "time"];
}

/**
 * One curve per metric, `loss` and `accuracy` first. A metric that is taken per step is not drawn per epoch as well.
 * `label` words a part (`train`, `val`, `test`); `nodes` tell lines apart when several nodes report the same metric.
 */
export function curvesOf(
  series: readonly Series[],
  axis: XAxis,
  startedAt: number | null,
  label: (part: string) => string,
): Curve[] {
  // The mean over an epoch says nothing that the points of its steps, smoothed, do not.
  const perStep = new Set(
    series.filter((one) => one.scope === "step").map((one) => `${one.nodeId}/${one.name}`),
  );
  const repeats = (one: Series) =>
    one.scope === "epoch" && perStep.has(`${one.nodeId}/${one.name.replace(/^train_/, "")}`);
  const shown = series.filter((one) => one.length > 0 && !repeats(one));
  const origin = startedAt ?? Math.min(...shown.map((one) => one.times[0] as number));
  const known = axis === "epoch" ? epochsByStep(series) : { steps: [], epochs: [] };
  const groups = new Map<string, { series: Series; part: string }[]>();
  for (const one of shown) {
    const { base, part } = partOf(one.name);
    const group = groups.get(base);
    if (group) group.push({ series: one, part });
    else groups.set(base, [{ series: one, part }]);
  }
  // A value that was taken once is a fact, not a curve.
  const names = [...groups.keys()]
    .filter((name) => groups.get(name)?.some((member) => member.series.length > 1))
    .sort((a, b) => rank(a) - rank(b));
  return names.map((name) => {
    const members = groups.get(name) ?? [];
    const parts = members.map((member) => member.part || "train");
    return {
      name,
      lines: members.map(({ series: one, part }, i) => {
        const of = parts[i] as (typeof PARTS)[number];
        const ambiguous = parts.indexOf(of) !== parts.lastIndexOf(of);
        return {
          key: one.key,
          label: [members.length > 1 ? label(of) : "", ambiguous ? one.nodeId : ""].filter(Boolean).join(" "),
          xs: xsOf(one, axis, origin, known),
          ys: one.values,
          look: ambiguous ? i : PARTS.indexOf(of),
          smooth: one.scope === "step" && part === "",
        };
      }),
    };
  });
}
