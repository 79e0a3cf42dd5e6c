// Step traces as lines of a chart. Pure.
import { fromJsonNumber } from "../api/numbers";
import type { ChartLine } from "../charts/plot";
import type { TensorFacts, Trace } from "./types";

export type Kind = "values" | "gradients";
export type Fact = "norm" | "mean" | "std" | "min" | "max" | "zero";

export const FACTS: readonly Fact[] = ["norm", "mean", "std", "min", "max", "zero"];

/** As many lines as have a look of their own. */
export const MOST_LINES = 6;

/** One line per layer or parameter over the steps. What was not there at a step has no point there. */
export function traceLines(trace: Trace, kind: Kind, fact: Fact, names: readonly string[]): ChartLine[] {
  return names.slice(0, MOST_LINES).map((name, look) => {
    const xs: number[] = [];
    const ys: number[] = [];
    for (const step of trace.steps) {
      const facts = step[kind]?.[name];
      if (facts === undefined) continue;
      xs.push(step.step);
      ys.push(factOf(facts, fact));
    }
    return { key: `${kind} ${name}`, label: name, xs, ys, look, smooth: false };
  });
}

function factOf(facts: TensorFacts, fact: Fact): number {
  // Statistics are of the finite numbers; that there were others is what matters then.
  return (facts.nonfinite ?? 0) > 0 && fact !== "zero" ? Number.NaN : fromJsonNumber(facts[fact]);
}
