import { lazy, Suspense, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { type RunSummary, useGraphs, useRuns } from "../api";
import { metricText } from "../charts/format";
import { Sparkline } from "../charts/Sparkline";
import { ImportDrop } from "../drafts/ImportDrop";
import { untitledName } from "../drafts/start";
import { useImport } from "../drafts/use-import";
import { Gallery } from "../gallery/Gallery";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { GraphNotices } from "../notices/GraphNotices";
import { headline, metricName, stateDetail, stateOf } from "../runs/run-words";
import { useSparkline } from "../runs/use-sparkline";
import { Button, buttonClass } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { StateMark } from "../ui/StateMark";
import "./home.css";

const FileDialog = lazy(() => import("../files/FileDialog"));

const NO_FILES: readonly File[] = [];
const RECENT = 8;
/** How many graphs are shown before somebody asks for all. */
const GRAPHS = 6;

export default function HomePage() {
  const { t } = useTranslation("home");
  return (
    <main className="page home">
      <div className="page-head">
        <h1>{t("title")}</h1>
        <span className="ink-3 home-lead clip">{t("lead")}</span>
      </div>
      <GraphNotices />
      <ImportDrop />
      <div className="home-body">
        <div className="home-column">
          <Graphs />
          <Gallery />
        </div>
        <Recent />
      </div>
    </main>
  );
}

/** Saved graphs and drafts; with none of them there is nothing to show. */
function Graphs() {
  const { t } = useTranslation("home");
  const format = useFormat();
  const take = useImport();
  const input = useRef<HTMLInputElement>(null);
  const { data } = useGraphs();
  const [all, setAll] = useState(false);
  const [files, setFiles] = useState(false);
  const saved = data?.graphs ?? [];
  const drafts = data?.drafts ?? [];
  const undecided = new Set(drafts.map((draft) => draft.name));
  const names = new Set(saved.map((graph) => graph.name));
  const graphs = [...saved, ...drafts.filter((draft) => !names.has(draft.name))].sort(
    (a, b) => b.updated_at - a.updated_at,
  );
  const shown = all ? graphs : graphs.slice(0, GRAPHS);
  return (
    <section aria-labelledby="home-graphs">
      <div className="home-section-head">
        <h2 id="home-graphs">{t("graphs")}</h2>
        <span className="text-12 ink-3 grow clip">
          {data !== undefined && graphs.length === 0 && t("noGraphs")}
        </span>
        <Link
          className={buttonClass("plain", "s")}
          href={`/graphs/${untitledName([...names, ...undecided])}`}
        >
          <Icon name="plus" />
          {t("newGraph")}
        </Link>
        <Button size="s" icon="upload" onPress={() => input.current?.click()}>
          {t("importFile")}
        </Button>
        <Button size="s" icon="folder" onPress={() => setFiles(true)}>
          {t("files")}
        </Button>
        {files && (
          <Suspense>
            <FileDialog
              title={t("filesTitle")}
              value=""
              choose="any"
              dropped={NO_FILES}
              onClose={() => setFiles(false)}
            />
          </Suspense>
        )}
        <input
          ref={input}
          type="file"
          accept=".json,application/json"
          multiple
          hidden
          aria-label={t("importFile")}
          onChange={(event) => {
            const given = [...(event.target.files ?? [])];
            event.target.value = "";
            void take(given);
          }}
        />
      </div>
      {graphs.length > 0 && (
        <ul className="card home-list">
          {shown.map((graph) => (
            <li key={graph.name}>
              <Link className="home-row" href={`/graphs/${encodeURIComponent(graph.name)}`}>
                <Icon name="graph" className="ink-3" />
                <span className="grow clip">{graph.name}</span>
                {undecided.has(graph.name) && (
                  <span className="text-12 warn">
                    {t(names.has(graph.name) ? "twoVersions" : "notNamed")}
                  </span>
                )}
                <span className="text-12 ink-3">{t("nodes", { count: graph.node_count })}</span>
                <span className="text-12 ink-3 home-when">
                  {t("saved", { time: format.time(graph.updated_at) })}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {shown.length < graphs.length && (
        <Button size="s" className="home-more" onPress={() => setAll(true)}>
          {t("showAll", { count: graphs.length })}
        </Button>
      )}
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
