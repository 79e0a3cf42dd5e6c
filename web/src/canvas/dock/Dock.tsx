import { lazy, type PointerEvent, Suspense, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { type LogView, type Series, useArtifacts, useLive, useLog } from "../../api";
import type { StoredArtifact } from "../../api/types";
import { CurveControls } from "../../charts/Curves";
import { metricText } from "../../charts/format";
import { IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Tabs } from "../../ui/Tabs";
import { useGraph } from "../store/editor";
import { type RunView, useRunView } from "../store/run-view";
import { DOCK_LEAST, type DockTab, useView } from "../store/view";
import { Console } from "./Console";
import { CurvesTab } from "./CurvesTab";
import { Problems } from "./Problems";

// Looking into outputs comes when someone looks.
const RunOutputs = lazy(() => import("../../inspector/RunOutputs"));

const NO_SERIES: readonly Series[] = [];
const EMPTY_LOG: LogView = { lines: [], dropped: 0, bytes: 0, version: 0 };

/** What the run gives, below the canvas. Folded, it shows the last result. */
export function Dock() {
  const { t } = useTranslation("canvas");
  const height = useView((state) => state.dockHeight);
  const run = useRunView();
  // Before the first run there is nothing to read: the canvas has the room.
  const open = useView((state) => state.dockOpen) ?? run !== null;
  return (
    <section className="dock" aria-label={t("results")} style={{ height: open ? height : 36 }}>
      {open && <Resizer />}
      {run === null ? (
        <DockTabs open={open} run={null} log={EMPTY_LOG} artifacts={[]} />
      ) : (
        <OfRun key={run.runId} open={open} run={run} />
      )}
    </section>
  );
}

function OfRun({ open, run }: { open: boolean; run: RunView }) {
  const { log } = useLog(run.runId, run.active);
  const { data } = useArtifacts(run.runId);
  return <DockTabs open={open} run={run} log={log} artifacts={data?.artifacts ?? []} />;
}

interface DockTabsProps {
  open: boolean;
  run: RunView | null;
  log: LogView;
  artifacts: readonly StoredArtifact[];
}

function DockTabs({ open, run, log, artifacts }: DockTabsProps) {
  const { t } = useTranslation("canvas");
  const [, navigate] = useLocation();
  const tab = useView((state) => state.dockTab);
  const view = useView((state) => state.curves);
  const problems = useGraph((state) => state.problems);
  const series = useLive(run?.runId ?? null, (live) => live?.series) ?? NO_SERIES;
  const select = (dockTab: DockTab) => useView.getState().set({ dockTab, dockOpen: true });
  const tabs = useMemo(
    () => [
      { id: "curves" as const, label: t("dock.curves") },
      { id: "console" as const, label: t("dock.console"), count: log.lines.length || undefined },
      { id: "outputs" as const, label: t("dock.outputs"), count: artifacts.length || undefined },
      {
        id: "problems" as const,
        label: t("dock.problems"),
        count: problems.length,
        icon:
          problems.length > 0 ? (
            <span className="warn">
              <Icon name="warning" />
            </span>
          ) : undefined,
      },
    ],
    [t, log.lines.length, artifacts.length, problems.length],
  );
  return (
    <Tabs<DockTab>
      label={t("results")}
      className="dock-tabs"
      headClassName="dock-head"
      panelClassName="dock-body"
      tabs={tabs}
      selected={tab}
      onSelect={select}
      aside={
        <>
          <span className="grow" />
          {open && tab === "curves" && (
            <CurveControls
              view={view}
              series={series}
              onChange={(curves) => useView.getState().set({ curves })}
            />
          )}
          {!open && <LastResult run={run} />}
          <span className="row dock-buttons">
            {open && run !== null && (
              <IconButton
                icon="external"
                size="s"
                label={t("openRunPage")}
                onPress={() => navigate(`/runs/${run.runId}`)}
              />
            )}
            <IconButton
              icon={open ? "down" : "up"}
              size="s"
              keys="J"
              label={t(open ? "foldResults" : "openResults")}
              onPress={() => useView.getState().set({ dockOpen: !open })}
            />
          </span>
        </>
      }
    >
      {open && tab === "curves" && <CurvesTab run={run} series={series} artifacts={artifacts} view={view} />}
      {open && tab === "console" && <Console run={run} log={log} />}
      {open && tab === "outputs" && run === null && <p className="dock-empty">{t("outputsNoRun")}</p>}
      {open && tab === "outputs" && run !== null && (
        <Suspense>
          <RunOutputs key={run.runId} run={run} artifacts={artifacts} />
        </Suspense>
      )}
      {open && tab === "problems" && <Problems />}
    </Tabs>
  );
}

/** One line for the folded dock. */
function LastResult({ run }: { run: RunView | null }) {
  const { t } = useTranslation("canvas");
  const series = useLive(run?.runId ?? null, (live) => live?.series) ?? NO_SERIES;
  if (run === null) return null;
  const best =
    series.find((one) => one.name === "test_accuracy") ??
    series.find((one) => one.name === "val_accuracy") ??
    series.find((one) => one.name.endsWith("accuracy")) ??
    series.find((one) => one.name === "loss");
  const value = best?.values.at(-1);
  const state = t(`state.${run.state}`, { ns: "common" });
  return (
    <span className="row text-12 ink-2 nowrap">
      {best === undefined || value === undefined
        ? state
        : t("lastResult", { state, name: best.name.replaceAll("_", " "), value: metricText(value) })}
    </span>
  );
}

/** The dock's upper edge, to drag or to move with arrow keys. */
function Resizer() {
  const { t } = useTranslation("canvas");
  const height = useView((state) => state.dockHeight);
  const start = useRef<{ y: number; height: number } | null>(null);
  const set = (next: number) =>
    useView
      .getState()
      .set({ dockHeight: Math.round(Math.min(Math.max(next, DOCK_LEAST), window.innerHeight * 0.6)) });
  const onPointerMove = (event: PointerEvent) => {
    if (start.current !== null) set(start.current.height + start.current.y - event.clientY);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is a widget, not a rule
    <div
      className="dock-resizer"
      role="separator"
      aria-orientation="horizontal"
      aria-label={t("resizeResults")}
      aria-valuenow={height}
      aria-valuemin={DOCK_LEAST}
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { y: event.clientY, height };
      }}
      onPointerMove={onPointerMove}
      onPointerUp={() => {
        start.current = null;
      }}
      onKeyDown={(event) => {
        if (event.key === "ArrowUp") set(height + 24);
        else if (event.key === "ArrowDown") set(height - 24);
      }}
    />
  );
}
