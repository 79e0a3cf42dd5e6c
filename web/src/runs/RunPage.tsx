import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import {
  ApiProblem,
  api,
  asProgress,
  bestEpoch,
  keys,
  type LiveRun,
  type RunDetail,
  type StoredArtifact,
  useArtifacts,
  useAwaySince,
  useFleetMutation,
  useLiveRun,
  useRun,
} from "../api";
import { metricText } from "../charts/format";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Button, buttonClass, IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { StateMark, type StateName } from "../ui/StateMark";
import { Tabs } from "../ui/Tabs";
import { useNow } from "../ui/use-now";
import { ArtifactGallery } from "./Artifacts";
import { ConsoleView } from "./ConsoleView";
import { Environment } from "./Environment";
import { EventsTab } from "./EventsTab";
import { bestOf, peakBytes, totalSize } from "./facts";
import { nodeNames } from "./graph-names";
import { Overview } from "./Overview";
import { graphForRun, showRunOn } from "./open-on-canvas";
import "./run.css";
import "./runs.css";
import { RunErrorNote } from "./RunErrorNote";
import { Live } from "./RunsPage";
import { isLive } from "./run-list";
import { metricName, progressText, stateOf, tookSeconds, whereOf } from "./run-words";
import { Timeline } from "./Timeline";
import { useCancel } from "./use-cancel";

const TABS = ["overview", "console", "events", "artifacts", "environment"] as const;
type TabId = (typeof TABS)[number];

export default function RunPage({ runId, tab }: { runId: string; tab?: string | undefined }) {
  const { t } = useTranslation("runs");
  const word = useReason();
  const [removing, setRemoving] = useState(false);
  const query = useRun(runId, !removing);
  const live = useLiveRun(runId);
  if (query.data) {
    const known = TABS.find((id) => id === tab) ?? "overview";
    return (
      <Run run={query.data} live={live} tab={known} there={!removing} onRemoving={setRemoving} key={runId} />
    );
  }
  if (query.isPending) {
    return (
      <main className="page">
        <p className="page-note ink-3" role="status">
          {t("common:loading")}
        </p>
      </main>
    );
  }
  const missing = query.error instanceof ApiProblem && query.error.status === 404;
  return (
    <main className="page">
      <div className="page-center">
        <div className="empty" role="alert">
          <h2>{t(missing ? "notFoundTitle" : "loadFailed")}</h2>
          <p>
            {missing
              ? t("notFoundText")
              : query.error instanceof ApiProblem
                ? word(query.error)
                : String(query.error)}
          </p>
          {missing ? (
            <Link href="/runs" className={buttonClass("primary")}>
              {t("toRuns")}
            </Link>
          ) : (
            <Button kind="primary" onPress={() => void query.refetch()}>
              {t("common:retry")}
            </Button>
          )}
        </div>
      </div>
    </main>
  );
}

interface RunProps {
  run: RunDetail;
  live: LiveRun | undefined;
  tab: TabId;
  /** False while the run is being deleted: what is shown stays, and nothing is asked of the server. */
  there: boolean;
  onRemoving: (removing: boolean) => void;
}

function Run({ run, live, tab, there, onRemoving }: RunProps) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const [, navigate] = useLocation();
  const running = isLive(run);
  const away = useAwaySince() !== null;
  // Nothing is known to go on while the server does not answer.
  const now = useNow(running && !away);
  const artifacts = useArtifacts(run.run_id, there).data?.artifacts ?? [];
  const names = useMemo(() => nodeNames(run.graph), [run.graph]);
  const nameOf = (nodeId: string) => names.get(nodeId) ?? nodeId;
  const tabs = [
    { id: "overview" as const, label: t("tabs.overview") },
    { id: "console" as const, label: t("tabs.console") },
    { id: "events" as const, label: t("tabs.events"), count: live?.events.length ?? run.event_count },
    { id: "artifacts" as const, label: t("tabs.artifacts"), count: artifacts.length },
    { id: "environment" as const, label: t("tabs.environment") },
  ];
  return (
    <main className="page run-page">
      <Head run={run} onRemoving={onRemoving} />
      <Facts run={run} live={live} now={now} artifacts={artifacts} />
      <Timeline run={run} live={live} nameOf={nameOf} now={now} />
      <Tabs
        label={t("tabs.label")}
        tabs={tabs}
        selected={tab}
        onSelect={(id) =>
          navigate(`/runs/${run.run_id}${id === "overview" ? "" : `/${id}`}`, { replace: true })
        }
        className="run-tabs"
        headClassName="run-tabs-head"
        panelClassName="run-panel"
      >
        {run.error && (tab === "overview" || tab === "console") && (
          <RunErrorNote run={run} error={run.error} nameOf={nameOf} />
        )}
        {live?.refusal && (
          <p className="note warn" role="alert">
            <Icon name="warning" />
            {t("refused", { message: live.refusal.message })}
          </p>
        )}
        {tab === "overview" && <Overview run={run} live={live} artifacts={artifacts} nameOf={nameOf} />}
        {tab === "console" && <ConsoleView runId={run.run_id} live={running} />}
        {tab === "events" && <EventsTab run={run} live={live} nameOf={nameOf} />}
        {tab === "artifacts" && <ArtifactGallery run={run} artifacts={artifacts} nameOf={nameOf} />}
        {tab === "environment" && <Environment run={run} />}
      </Tabs>
      <span className="visually-hidden">{format.count(run.number)}</span>
    </main>
  );
}

const TONE: Record<StateName, string> = {
  queued: "idle",
  running: "live",
  disconnected: "warn",
  succeeded: "ok",
  reused: "ok",
  failed: "bad",
  skipped: "idle",
  cancelled: "idle",
  interrupted: "warn",
};

function Head({ run, onRemoving }: { run: RunDetail; onRemoving: (removing: boolean) => void }) {
  const { t } = useTranslation("runs");
  const word = useReason();
  const state = stateOf(run.status);
  const [, navigate] = useLocation();
  const [deleting, setDeleting] = useState(false);
  const cancel = useCancel(run);
  const client = useQueryClient();
  const rerun = useFleetMutation(() =>
    api.submitRun({ graph: run.graph, options: { ...run.options, lane: "queued" }, name: run.name }),
  );
  const remove = useFleetMutation(api.deleteRun);
  const open = useMutation({
    mutationFn: async () => {
      const name = await graphForRun(run);
      await showRunOn(name, run.run_id);
      return name;
    },
  });
  const problem = [cancel.error, rerun.error, remove.error, open.error].find(
    (error) => error instanceof ApiProblem,
  );
  const live = isLive(run);
  return (
    <>
      <header className="page-head run-head">
        <div className="col grow run-title">
          <nav className="row text-12 ink-3 crumbs" aria-label={t("breadcrumb")}>
            <Link href="/runs">{t("title")}</Link>
            <Icon name="right" size={12} />
            <Link href={`/runs?q=${encodeURIComponent(run.graph_name)}`}>{run.graph_name}</Link>
            <Icon name="right" size={12} />
            <span aria-current="page">{run.number}</span>
          </nav>
          <div className="row run-name">
            <h1 className="clip">{run.name || run.graph_name}</h1>
            <span className={`pill ${TONE[state]}`} role="status">
              <StateMark state={state} word />
            </span>
            {live && run.status !== "disconnected" && <Live />}
          </div>
        </div>
        <Button
          icon="graph"
          isDisabled={open.isPending}
          onPress={() =>
            open.mutate(undefined, { onSuccess: (name) => navigate(`/graphs/${encodeURIComponent(name)}`) })
          }
        >
          {t("openOnCanvas")}
        </Button>
        {live ? (
          <Button
            kind="danger"
            icon="stop"
            isDisabled={cancel.pending || run.cancel_requested === true}
            onPress={cancel.ask}
          >
            {t(run.cancel_requested ? "cancelling" : "cancel")}
          </Button>
        ) : (
          <Button
            kind="primary"
            icon="retry"
            isDisabled={rerun.isPending}
            onPress={() =>
              rerun.mutate(undefined, { onSuccess: (submitted) => navigate(`/runs/${submitted.run_id}`) })
            }
          >
            {t(rerun.isPending ? "rerunning" : "rerun")}
          </Button>
        )}
        <Menu
          label={t("more")}
          entries={[
            {
              id: "copy",
              label: t("copyId"),
              icon: "copy",
              onAction: () => void navigator.clipboard.writeText(run.run_id),
            },
            {
              id: "delete",
              label: t("delete"),
              icon: "trash",
              disabled: live,
              onAction: () => setDeleting(true),
            },
          ]}
        >
          <IconButton icon="more" kind="plain" label={t("more")} />
        </Menu>
      </header>
      {cancel.dialog}
      {problem instanceof ApiProblem && (
        <p className="note bad run-note" role="alert">
          <Icon name="warning" />
          {word(problem)}
        </p>
      )}
      <Dialog
        title={t("deleteTitle", { number: run.number })}
        open={deleting}
        onClose={() => setDeleting(false)}
        width={420}
        foot={
          <>
            <span className="grow" />
            <Button onPress={() => setDeleting(false)}>{t("common:cancel")}</Button>
            <Button
              kind="danger"
              isDisabled={remove.isPending}
              onPress={() => {
                onRemoving(true);
                remove.mutate(run.run_id, {
                  onSuccess: () => {
                    navigate("/runs");
                    client.removeQueries({ queryKey: keys.run(run.run_id) });
                    client.removeQueries({ queryKey: keys.artifacts(run.run_id) });
                  },
                  onError: () => {
                    onRemoving(false);
                    setDeleting(false);
                  },
                });
              }}
            >
              {t("delete")}
            </Button>
          </>
        }
      >
        <p>{t("deleteText")}</p>
      </Dialog>
    </>
  );
}

interface FactsProps {
  run: RunDetail;
  live: LiveRun | undefined;
  now: number;
  artifacts: readonly StoredArtifact[];
}

function Facts({ run, live, now, artifacts }: FactsProps) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const best = bestOf(run, live, artifacts);
  const kept = bestEpoch(live?.series ?? [], artifacts, run.graph);
  const where = whereOf(t, run);
  const took = tookSeconds(run, now);
  const peak = peakBytes(run);
  const bestText = () => {
    if (best === null) return t("facts.noMetric");
    const name = metricName(t, best.name);
    if (best.epoch !== undefined) return t("facts.bestEpoch", { name, epoch: best.epoch });
    if (best.step !== undefined) return t("facts.bestStep", { name, step: best.step });
    return isLive(run) ? t("facts.last", { name }) : name;
  };
  const times = () => {
    if (run.started_at == null) return t("facts.waitingSince", { time: format.clock(run.created_at) });
    const from = format.clock(run.started_at);
    if (run.ended_at == null) return t("facts.since", { time: from });
    return t("facts.fromTo", { from, to: format.clock(run.ended_at) });
  };
  const progress = isLive(run) ? (live?.progress ?? asProgress(run.progress)) : null;
  // Of a run that nobody can see right now, only what was heard last is true.
  const lost = run.status === "disconnected";
  const progressLine = [
    progress && progressText(t, format, lost ? { ...progress, eta_s: null } : progress),
    lost && run.last_heard_at != null && t("lastHeard", { time: format.time(run.last_heard_at) }),
  ]
    .filter(Boolean)
    .join(t("comma"));
  return (
    <dl className="run-facts">
      {progress && (
        <div className="run-fact run-progress-fact">
          <dd>
            {format.percent(progress.fraction)}
            <span className={`bar ${run.status === "disconnected" ? "warn" : "live"}`} aria-hidden="true">
              <i style={{ width: `${progress.fraction * 100}%` }} />
            </span>
          </dd>
          <dt className="text-12 ink-3">{progressLine}</dt>
        </div>
      )}
      <Fact value={best === null ? "–" : metricText(best.value)} label={bestText()} />
      {kept !== null && kept.name !== best?.name && (
        <Fact
          value={metricText(kept.value)}
          label={t("facts.bestEpoch", { name: metricName(t, kept.name), epoch: kept.epoch })}
        />
      )}
      <Fact
        value={took === null ? t("facts.notStarted") : format.duration(isLive(run) ? Math.round(took) : took)}
        label={times()}
      />
      <Fact value={where.machine} label={where.devices} />
      {peak !== null && (
        <Fact
          value={format.memory(peak)}
          label={t(run.peak_memory?.exact ? "facts.peakExact" : "facts.peak")}
        />
      )}
      <Fact
        value={format.count(artifacts.length)}
        label={
          artifacts.length === 0
            ? t("facts.noArtifacts")
            : t("facts.artifacts", { count: artifacts.length, size: format.size(totalSize(artifacts)) })
        }
      />
    </dl>
  );
}

function Fact({ value, label }: { value: string; label: string }) {
  return (
    <div className="run-fact">
      <dd>{value}</dd>
      <dt className="text-12 ink-3">{label}</dt>
    </div>
  );
}
