import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { asProgress, type RunSummary, useAwaySince, useDrainWorker } from "../api";
import { metricText } from "../charts/format";
import { Sparkline } from "../charts/Sparkline";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Button, IconButton } from "../ui/Button";
import { StateMark } from "../ui/StateMark";
import { useNow } from "../ui/use-now";
import { isLive } from "./run-list";
import { headline, metricName, stateDetail, stateOf, tookSeconds, whereOf } from "./run-words";
import { useCancel } from "./use-cancel";
import { useSparkline } from "./use-sparkline";

interface Props {
  run: RunSummary;
  /** Its place among all rows, from 1, for screen readers. */
  index: number;
}

export function RunRow({ run, index }: Props) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const word = useReason();
  const where = whereOf(t, run);
  const detail = stateDetail(t, format, word, run);
  const href = `/runs/${run.run_id}`;
  return (
    <tr className="run-row" aria-rowindex={index} data-run={run.number}>
      <td className="run-state">
        <span className="two">
          <StateMark state={stateOf(run.status)} word />
          <span className="text-12 ink-3 run-detail" title={detail}>
            {detail}
          </span>
        </span>
      </td>
      <td>
        <span className="two">
          <Link href={href} className="run-link">
            {run.name || run.graph_name}
          </Link>
          <span className="text-12 ink-3">
            {run.graph_name}
            {t("comma")}
            {run.number}
          </span>
        </span>
      </td>
      <td>
        <span className="two">
          <span>{where.machine}</span>
          <span className="text-12 ink-3">{where.devices}</span>
        </span>
      </td>
      <td>
        <Progress run={run} />
      </td>
      <td className="run-loss">
        <Loss run={run} />
      </td>
      <td className="num ink-2 nowrap">
        <time dateTime={new Date(run.created_at * 1000).toISOString()} title={format.moment(run.created_at)}>
          {format.time(run.created_at)}
        </time>
      </td>
      <td className="num ink-2 nowrap">
        <Took run={run} />
      </td>
      <td className="run-actions">
        <RowCancel run={run} />
      </td>
    </tr>
  );
}

function Took({ run }: { run: RunSummary }) {
  const format = useFormat();
  const away = useAwaySince() !== null;
  const now = useNow(!away && isLive(run) && run.started_at != null);
  const seconds = tookSeconds(run, now);
  return seconds === null ? null : format.duration(isLive(run) ? Math.round(seconds) : seconds);
}

function Loss({ run }: { run: RunSummary }) {
  return <Sparkline values={useSparkline(run)} />;
}

function Progress({ run }: { run: RunSummary }) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const best = headline(run.latest_metrics);
  if (run.status === "queued") return <Remedy run={run} />;
  const progress = asProgress(run.progress);
  if (isLive(run) && progress) {
    const fraction = Math.max(0, Math.min(1, progress.fraction));
    return (
      <span className="two run-progress">
        <span className="row text-12">
          <span className="grow clip">
            {best ? `${metricName(t, best.name)} ${metricText(best.value)}` : ""}
          </span>
          <span className="mono ink-2">{format.percent(fraction)}</span>
        </span>
        <span
          className={`bar ${run.status === "disconnected" ? "warn" : "live"}`}
          role="progressbar"
          aria-label={t("column.progress")}
          aria-valuenow={Math.round(fraction * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <i style={{ width: `${fraction * 100}%` }} />
        </span>
      </span>
    );
  }
  if (best === null) return null;
  return (
    <span className="row text-12">
      <span className="grow clip ink-3">{metricName(t, best.name)}</span>
      <span className="mono">{metricText(best.value)}</span>
    </span>
  );
}

/** What a person can do about a run that waits. */
function Remedy({ run }: { run: RunSummary }) {
  const { t } = useTranslation("runs");
  const drain = useDrainWorker();
  const worker = run.queue_reason_params?.worker;
  if (run.queue_reason_code !== "worker_draining" || typeof worker !== "string") return null;
  return (
    <Button
      size="s"
      isDisabled={drain.isPending}
      onPress={() => drain.mutate({ workerId: worker, drain: false })}
    >
      {t("undrain", { worker })}
    </Button>
  );
}

function RowCancel({ run }: { run: RunSummary }) {
  const { t } = useTranslation("runs");
  const cancel = useCancel(run);
  if (!isLive(run)) return null;
  return (
    <>
      <IconButton
        icon="stop"
        size="s"
        label={t("cancelRun", { number: run.number })}
        isDisabled={cancel.pending || run.cancel_requested === true}
        onPress={cancel.ask}
      />
      {cancel.dialog}
    </>
  );
}
