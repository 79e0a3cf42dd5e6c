import { useTranslation } from "react-i18next";
import { bestEpoch, type LiveRun, type Series, type StoredArtifact, useLive } from "../../api";
import { Curves, type CurveView } from "../../charts/Curves";
import { clockText, metricText } from "../../charts/format";
import { useFormat } from "../../i18n/format";
import { StateMark } from "../../ui/StateMark";
import { countText, durationText } from "../format";
import { progressText } from "../progress";
import type { RunView } from "../store/run-view";

interface Props {
  run: RunView | null;
  series: readonly Series[];
  artifacts: readonly StoredArtifact[];
  view: CurveView;
}

export function CurvesTab({ run, series, artifacts, view }: Props) {
  const { t } = useTranslation("canvas");
  const progress = useLive(run?.active === true ? run.runId : null, (live) => live?.progress ?? null);
  if (run === null) return <p className="dock-empty">{t("curvesNoRun")}</p>;
  return (
    <div className="dock-curves">
      <div className="dock-charts">
        {series.length === 0 ? (
          <p className="dock-empty">{t(run.active ? "curvesNotYet" : "curvesNone")}</p>
        ) : (
          <Curves series={series} startedAt={run.startedAt} view={view} most={2} progress={progress} />
        )}
      </div>
      <Facts run={run} series={series} artifacts={artifacts} />
    </div>
  );
}

function last(series: readonly Series[], name: string): number | undefined {
  const found = series.filter((one) => one.name === name);
  return (found.find((one) => one.scope === "epoch") ?? found[0])?.values.at(-1);
}

/** The run in a few numbers beside its curves. */
function Facts({
  run,
  series,
  artifacts,
}: {
  run: RunView;
  series: readonly Series[];
  artifacts: readonly StoredArtifact[];
}) {
  const { t } = useTranslation("canvas");
  const progress = useLive(run.runId, (live: LiveRun | undefined) => live?.progress ?? null);
  const format = useFormat();
  const steps = series.find((one) => one.scope === "step" && one.name === "loss");
  const step = steps?.steps.at(-1);
  const top = bestEpoch(series, artifacts, run.row?.graph);
  const memory = Math.max(0, ...Object.values(run.row?.peak_memory?.devices ?? {}));
  const rows: [string, string, string?][] = [];
  const add = (name: string, value: number | undefined) => {
    if (value !== undefined && !Number.isNaN(value)) rows.push([name, metricText(value)]);
  };
  if (step !== undefined) rows.push([t("fact.step"), countText(step)]);
  add(t("fact.trainLoss"), last(series, "train_loss") ?? last(series, "loss"));
  add(t("fact.valAccuracy"), last(series, "val_accuracy"));
  if (top !== null) {
    const isLoss = top.name.endsWith("_loss");
    const name = isLoss ? t("fact.bestLoss") : t("fact.best");
    rows.push([name, metricText(top.value), t("fact.epoch", { epoch: top.epoch })]);
  }
  add(t("fact.testAccuracy"), last(series, "test_accuracy"));
  const speed = last(series, "samples_per_second");
  if (speed !== undefined)
    rows.push([t("fact.speed"), t("perSecond", { value: countText(Math.round(speed)) })]);
  if (memory > 0) rows.push([t("fact.memory"), format.memory(memory)]);
  if (!run.active && run.startedAt !== null && run.endedAt !== null) {
    rows.push([t("fact.took"), durationText(run.endedAt - run.startedAt)]);
  }
  const words = run.active && progress !== null ? progressText(progress, t) : "";
  const eta = run.active ? progress?.eta_s : null;
  return (
    <div className="dock-facts">
      <div className="dock-facts-head">
        <StateMark state={run.state} />
        <span className="grow clip strong">
          {words === "" ? t(`state.${run.state}`, { ns: "common" }) : words}
        </span>
        {eta !== null && eta !== undefined ? (
          <span className="text-12 ink-3">{t("left", { time: clockText(eta) })}</span>
        ) : (
          run.row !== undefined && (
            <span className="text-12 ink-3">{t("runNumber", { number: run.row.number })}</span>
          )
        )}
      </div>
      <dl className="facts">
        {rows.map(([name, value, note]) => (
          <div key={name} className="facts-row">
            <dt>{name}</dt>
            <dd>
              {value}
              {note !== undefined && <span className="ink-3"> {note}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
