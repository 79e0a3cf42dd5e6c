// How a run's row is told in words and numbers. Pure but for the translations.
import type { TFunction } from "i18next";
import { asProgress, fromJsonNumber, type NodeProgress, type RunSummary } from "../api";
import type { Format } from "../i18n/format";
import type { CodedMessage } from "../i18n/reasons";
import type { StateName } from "../ui/StateMark";
import { isState } from "../ui/StateMark";

/** What people look at first, best first. */
const HEADLINES = [
  "test_accuracy",
  "val_accuracy",
  "accuracy",
  "val_f1",
  "f1",
  "val_loss",
  "test_loss",
  "loss",
] as const;

export interface Headline {
  name: string;
  value: number;
}

/** The metric that says most about a run, with its last value. */
export function headline(metrics: RunSummary["latest_metrics"]): Headline | null {
  if (!metrics) return null;
  const names = Object.keys(metrics);
  const name = HEADLINES.find((candidate) => candidate in metrics) ?? names[0];
  if (name === undefined) return null;
  return { name, value: fromJsonNumber(metrics[name] as number | string) };
}

export function metricName(t: TFunction, name: string): string {
  return t(`runs:metric.${name}`, { defaultValue: name.replaceAll("_", " ") });
}

export function stateOf(status: string): StateName {
  return isState(status) ? status : "queued";
}

/** “epoch 13 of 20, 39 s left”, as far as the node says so. */
export function progressText(t: TFunction, format: Format, progress: NodeProgress): string {
  const parts: string[] = [];
  if (progress.epoch != null && progress.epochs != null) {
    parts.push(t("runs:epochOf", { epoch: progress.epoch, epochs: progress.epochs }));
  } else if (progress.current != null && progress.total != null) {
    parts.push(
      `${format.count(progress.current)} / ${format.count(progress.total)} ${progress.unit ?? ""}`.trim(),
    );
  } else if (progress.text) {
    parts.push(progress.text);
  }
  if (progress.eta_s != null && progress.fraction < 1) {
    parts.push(t("runs:timeLeft", { time: format.duration(Math.ceil(progress.eta_s)) }));
  }
  return parts.join(t("runs:comma"));
}

/** The second line under a run's state: why it is so, or how far it is. */
export function stateDetail(
  t: TFunction,
  format: Format,
  word: (reason: CodedMessage) => string,
  run: RunSummary,
): string {
  switch (run.status) {
    case "queued": {
      const reason = run.queue_reason_code
        ? word({
            code: run.queue_reason_code,
            message: run.queue_reason ?? "",
            params: run.queue_reason_params,
          })
        : run.queue_reason;
      if (reason) return reason;
      if (run.queue_position != null)
        return t("runs:position", { count: run.queue_position, queue: run.queue_key });
      return t("runs:starting");
    }
    case "running": {
      if (run.cancel_requested) return t("runs:stopping");
      const progress = asProgress(run.progress);
      const text = progress ? progressText(t, format, progress) : "";
      return text || (run.started_at != null ? t("runs:since", { time: format.time(run.started_at) }) : "");
    }
    case "disconnected":
      return run.last_heard_at != null ? t("runs:lastHeard", { time: format.time(run.last_heard_at) }) : "";
    case "failed":
    case "interrupted":
      return run.error ? word(run.error) : "";
    default:
      return t("runs:eventCount", {
        count: run.event_count ?? 0,
        number: format.count(run.event_count ?? 0),
      });
  }
}

/** Seconds that the run took, or takes so far. */
export function tookSeconds(run: RunSummary, now: number): number | null {
  if (run.started_at == null) return null;
  return Math.max(0, (run.ended_at ?? now) - run.started_at);
}

/** Where it runs or ran, or is to run: the machine and its devices. */
export function whereOf(t: TFunction, run: RunSummary): { machine: string; devices: string } {
  const queueMachine = run.queue_key.includes("/")
    ? run.queue_key.slice(0, run.queue_key.indexOf("/"))
    : null;
  const machine = run.worker_id ?? queueMachine;
  return {
    machine:
      machine === null || machine === "local"
        ? t("runs:thisServer")
        : machine === "any"
          ? t("runs:anyMachine")
          : machine,
    devices: run.devices && run.devices.length > 0 ? run.devices.join(", ") : (run.device ?? "cpu"),
  };
}
