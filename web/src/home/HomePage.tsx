import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { ApiProblem, type ExampleSummary, type RunSummary, useExamples, useGraphs, useRuns } from "../api";
import { metricText } from "../charts/format";
import { Sparkline } from "../charts/Sparkline";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { headline, metricName, stateDetail, stateOf } from "../runs/run-words";
import { useSparkline } from "../runs/use-sparkline";
import { buttonClass } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { StateMark } from "../ui/StateMark";
import { GraphSketch } from "./GraphSketch";
import "./home.css";

const RECENT = 8;

export default function HomePage() {
  const { t } = useTranslation("home");
  return (
    <main className="page home">
      <div className="page-head">
        <h1>{t("title")}</h1>
        <span className="ink-3 home-lead clip">{t("lead")}</span>
      </div>
      <div className="home-body">
        <div className="home-column">
          <Examples />
          <Graphs />
        </div>
        <Recent />
      </div>
    </main>
  );
}

function Examples() {
  const { t } = useTranslation("home");
  const word = useReason();
  const { data, isPending, isError, error } = useExamples();
  return (
    <section aria-labelledby="home-examples">
      <div className="home-section-head">
        <h2 id="home-examples">{t("examples")}</h2>
        <span className="text-12 ink-3">{t("examplesText")}</span>
      </div>
      {isPending && (
        <p className="ink-3" role="status">
          {t("common:loading")}
        </p>
      )}
      {isError && (
        <p className="note bad" role="alert">
          <Icon name="warning" />
          {error instanceof ApiProblem && error.status === 401 ? word(error) : t("examplesFailed")}
        </p>
      )}
      <div className="home-cards">
        {data?.examples.map((example, i) => (
          <ExampleCard key={example.name} example={example} first={i === 0} />
        ))}
      </div>
    </section>
  );
}

/** The first one is where a new user starts: it has the page's primary button. */
function ExampleCard({ example, first }: { example: ExampleSummary; first: boolean }) {
  const { t } = useTranslation("home");
  const title = t(`example.${example.name}.title`, { defaultValue: example.title });
  return (
    <article className="card home-card" aria-label={title}>
      <GraphSketch name={example.name} />
      <div className="home-card-body">
        <h3>{title}</h3>
        <p className="text-12 ink-2">
          {t(`example.${example.name}.text`, { defaultValue: example.description })}
        </p>
        <div className="row">
          <Link
            className={buttonClass(first ? "primary" : "plain")}
            href={`/graphs/${encodeURIComponent(example.name)}`}
            aria-label={t("openNamed", { title })}
          >
            {t("open")}
          </Link>
          <span className="text-12 ink-3">
            {example.name}, {t("nodes", { count: example.node_count })}
          </span>
        </div>
      </div>
    </article>
  );
}

function Graphs() {
  const { t } = useTranslation("home");
  const format = useFormat();
  const { data } = useGraphs();
  const graphs = [...(data?.graphs ?? [])].sort((a, b) => b.updated_at - a.updated_at).slice(0, 8);
  if (graphs.length === 0) return null;
  return (
    <section aria-labelledby="home-graphs">
      <div className="home-section-head">
        <h2 id="home-graphs">{t("graphs")}</h2>
      </div>
      <ul className="card home-list">
        {graphs.map((graph) => (
          <li key={graph.name}>
            <Link className="home-row" href={`/graphs/${encodeURIComponent(graph.name)}`}>
              <Icon name="graph" className="ink-3" />
              <span className="grow clip">{graph.name}</span>
              <span className="text-12 ink-3">{t("nodes", { count: graph.node_count })}</span>
              <span className="text-12 ink-3 home-when">
                {t("saved", { time: format.time(graph.updated_at) })}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Recent() {
  const { t } = useTranslation("home");
  const { data, isError } = useRuns(null, RECENT);
  const page = data?.pages[0];
  const running = (page?.counts.running ?? 0) + (page?.counts.disconnected ?? 0);
  const queued = page?.counts.queued ?? 0;
  return (
    <section className="home-recent" aria-labelledby="home-recent">
      <div className="home-section-head">
        <h2 id="home-recent">{t("recent")}</h2>
        {page && (
          <span className="text-12 ink-3 grow">
            {running + queued > 0 ? t("live", { running, queued }) : t("quiet")}
          </span>
        )}
        <Link className="text-12 home-all" href="/runs">
          {t("allRuns")}
        </Link>
      </div>
      {isError && !page && (
        <p className="note bad" role="alert">
          <Icon name="warning" />
          {t("runsFailed")}
        </p>
      )}
      {page && page.runs.length === 0 && <p className="home-none text-12 ink-2">{t("noRuns")}</p>}
      {page && page.runs.length > 0 && (
        <ul className="card home-list">
          {page.runs.map((run) => (
            <RecentRun key={run.run_id} run={run} />
          ))}
        </ul>
      )}
    </section>
  );
}

function RecentRun({ run }: { run: RunSummary }) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const word = useReason();
  const best = headline(run.latest_metrics);
  const values = useSparkline(run);
  const detail = stateDetail(t, format, word, run);
  return (
    <li>
      <Link className="home-row home-run" href={`/runs/${run.run_id}`}>
        <span className="home-run-main">
          <span className="row">
            <StateMark state={stateOf(run.status)} />
            <span className="clip home-run-name">{run.name || run.graph_name}</span>
          </span>
          <span className="text-12 ink-3 clip home-run-detail">
            {[`${run.graph_name}${t("comma")}${run.number}`, detail].filter(Boolean).join(" · ")}
          </span>
        </span>
        <Sparkline values={values} width={64} />
        <span className="home-run-side">
          <span className="mono">{best ? metricText(best.value) : ""}</span>
          <span className="text-12 ink-3">
            {best ? metricName(t, best.name) : format.time(run.created_at)}
          </span>
        </span>
      </Link>
    </li>
  );
}
