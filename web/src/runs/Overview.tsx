import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import type { LiveRun, RunDetail, StoredArtifact } from "../api";
import { CurveControls, Curves, type CurveView, DEFAULT_VIEW } from "../charts/Curves";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { ArtifactList, Picture } from "./Artifacts";
import { ConsoleView } from "./ConsoleView";
import { graphSeed } from "./graph-names";
import { isLive } from "./run-list";

interface Props {
  run: RunDetail;
  live: LiveRun | undefined;
  artifacts: readonly StoredArtifact[];
  nameOf: (nodeId: string) => string;
}

export function Overview({ run, live, artifacts, nameOf }: Props) {
  const { t } = useTranslation("runs");
  const word = useReason();
  const [view, setView] = useCurveView();
  const series = live?.series ?? [];
  const pictures = artifacts.filter((artifact) => artifact.kind === "image" && artifact.available);
  const warnings = live?.warnings ?? [];
  return (
    <div className="run-overview">
      <div className="run-column">
        {warnings.length > 0 && (
          <ul className="note warn run-warnings">
            {warnings.slice(-3).map((warning, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same warning may come twice
              <li className="row" key={i}>
                <Icon name="warning" className="warn" />
                {word(warning)}
              </li>
            ))}
          </ul>
        )}
        <section className="card" aria-label={t("curves")}>
          <div className="card-head">
            <span className="grow">{t("curves")}</span>
            <CurveControls view={view} series={series} onChange={setView} />
          </div>
          <div className="run-curves">
            <Curves
              series={series}
              startedAt={run.started_at ?? null}
              view={view}
              progress={isLive(run) ? (live?.progress ?? null) : null}
              most={2}
              unfolds
            />
          </div>
        </section>
        <ConsoleView runId={run.run_id} live={isLive(run)} />
      </div>
      <div className="run-column">
        <section className="card" aria-label={t("artifacts")}>
          <div className="card-head">
            <span className="grow">{t("artifacts")}</span>
          </div>
          <ArtifactList run={run} artifacts={artifacts} />
        </section>
        {pictures.slice(0, 2).map((artifact) => (
          <section className="card" key={artifact.artifact_id} aria-label={artifact.name}>
            <div className="card-head">
              <span className="grow clip">{nameOf(artifact.node_id)}</span>
              <span className="text-12 ink-3 plain">{artifact.name}</span>
            </div>
            <Picture runId={run.run_id} artifact={artifact} />
          </section>
        ))}
        <FactsCard run={run} live={live} />
      </div>
    </div>
  );
}

/** Scale, axis and smoothing live in the address, so that a link shows the same picture. */
function useCurveView(): [CurveView, (view: CurveView) => void] {
  const [search, setSearch] = useSearchParams();
  const smoothing = Number(search.get("smooth") ?? Number.NaN);
  const axis = search.get("axis");
  const view: CurveView = {
    scale: search.get("scale") === "log" ? "log" : "linear",
    axis: axis === "epoch" || axis === "time" ? axis : "step",
    smoothing: smoothing >= 0 && smoothing < 1 ? smoothing : DEFAULT_VIEW.smoothing,
  };
  const set = (next: CurveView) =>
    setSearch(
      (old) => {
        const params = new URLSearchParams(old);
        const put = (name: string, value: string, usual: string) => {
          if (value === usual) params.delete(name);
          else params.set(name, value);
        };
        put("scale", next.scale, DEFAULT_VIEW.scale);
        put("axis", next.axis, DEFAULT_VIEW.axis);
        put("smooth", String(next.smoothing), String(DEFAULT_VIEW.smoothing));
        return params;
      },
      { replace: true },
    );
  return [view, set];
}

function FactsCard({ run, live }: { run: RunDetail; live: LiveRun | undefined }) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const facts = run.execution_facts ?? {};
  const seed = run.options.seed ?? graphSeed(run.graph);
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const rows: [string, string][] = [
    [t("fact.run"), `${run.number}, ${run.run_id}`],
    [t("fact.submitted"), format.moment(run.created_at)],
    [t("fact.events"), format.count(live?.events.length ?? run.event_count ?? 0)],
    [t("fact.attempt"), String(run.attempt)],
    ...(seed === null ? [] : ([[t("fact.seed"), String(seed)]] as [string, string][])),
    [t("fact.lane"), t(`lane.${run.lane}`, { defaultValue: run.lane })],
    [t("fact.queue"), run.queue_key],
    [t("fact.graph"), `${run.graph_name}, ${run.graph_hash.slice(0, 7)}`],
  ];
  const engine = [text(facts.engine_version), text(facts.torch) && `torch ${text(facts.torch)}`].filter(
    Boolean,
  );
  if (engine.length > 0) rows.push([t("fact.engine"), engine.join(", ")]);
  const copy = () =>
    navigator.clipboard.writeText(rows.map(([name, value]) => `${name}\t${value}`).join("\n"));
  return (
    <section className="card run-facts-card" aria-label={t("factsTitle")}>
      <div className="card-head">
        <span className="grow">{t("factsTitle")}</span>
        <IconButton icon="copy" size="s" label={t("copyFacts")} onPress={() => void copy()} />
      </div>
      <dl className="facts">
        {rows.map(([name, value]) => (
          <div className="fact-pair" key={name}>
            <dt>{name}</dt>
            <dd className="text" title={value}>
              {value}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
