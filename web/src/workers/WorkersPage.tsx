import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearchParams } from "wouter";
import {
  ApiProblem,
  type DeviceStatus,
  type RunSummary,
  useAwaySince,
  useDrainWorker,
  useRuns,
  useWorkers,
  type WorkerStatus,
} from "../api";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { stateOf } from "../runs/run-words";
import { Button } from "../ui/Button";
import { Icon, type IconName } from "../ui/Icon";
import { StateMark } from "../ui/StateMark";
import { Tip } from "../ui/Tooltip";
import { useNow } from "../ui/use-now";
import { AddWorker } from "./AddWorker";
import { StartCommand } from "./Command";
import "../runs/runs.css";
import "./workers.css";

/** Runs whose names the rows can show; more than these do not run at once on a handful of machines. */
const KNOWN_RUNS = 200;
const COLUMNS = 7;

export default function WorkersPage() {
  const { t } = useTranslation("workers");
  const word = useReason();
  const { data, error, isPending, refetch } = useWorkers();
  const [search, setSearch] = useSearchParams();
  const workers = data?.workers ?? [];
  const others = workers.filter((worker) => worker.worker_id !== "local");
  const setAdding = (adding: boolean) => setSearch(adding ? { add: "" } : {}, { replace: true });
  return (
    <main className="page">
      <div className="page-head">
        <h1>{t("title")}</h1>
        {data && (
          <span className="ink-3 runs-total">
            {t("summary", {
              workers: t("workers", { count: others.length }),
              devices: t("devices", {
                count: workers.reduce((sum, worker) => sum + worker.devices.length, 0),
              }),
            })}
          </span>
        )}
        <span className="grow" />
        <Button kind="primary" icon="plus" onPress={() => setAdding(true)}>
          {t("add")}
        </Button>
      </div>
      {isPending && (
        <p className="page-note ink-3" role="status">
          {t("common:loading")}
        </p>
      )}
      {error && !data && (
        <div className="page-center">
          <div className="empty" role="alert">
            <h2>{t("failedTitle")}</h2>
            <p>{error instanceof ApiProblem ? word(error) : String(error)}</p>
            <Button onPress={() => void refetch()}>{t("common:retry")}</Button>
          </div>
        </div>
      )}
      {data && <Fleet workers={workers} alone={others.length === 0} />}
      {search.has("add") && <AddWorker workers={workers} onClose={() => setAdding(false)} />}
    </main>
  );
}

function Fleet({ workers, alone }: { workers: readonly WorkerStatus[]; alone: boolean }) {
  const { t } = useTranslation("workers");
  const format = useFormat();
  const away = useAwaySince();
  const page = useRuns(null, KNOWN_RUNS).data?.pages[0];
  const runs = new Map((page?.runs ?? []).map((run) => [run.run_id, run]));
  const slots = workers.flatMap((worker) => worker.devices.map((device) => device.slots));
  const used = slots.reduce((sum, slot) => sum + slot.used, 0);
  const limit = slots.reduce((sum, slot) => sum + slot.limit, 0);
  return (
    <>
      <dl className={away === null ? "fleet-figures" : "fleet-figures stale"}>
        <div>
          <dd>
            {format.count(used)} / {format.count(limit)}
          </dd>
          <dt>{away === null ? t("slotsBusy") : t("slotsBusyThen", { time: format.time(away) })}</dt>
        </div>
        <div>
          <dd>{format.count(page?.counts.queued ?? 0)}</dd>
          <dt>{away === null ? t("queued") : t("queuedThen", { time: format.time(away) })}</dt>
        </div>
      </dl>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard */}
      <section className="runs-box" aria-label={t("table")} tabIndex={0}>
        <table className="grid workers-table" aria-label={t("table")}>
          <colgroup>
            <col className="w-device" />
            <col className="w-use" />
            <col className="w-memory" />
            <col className="w-temp" />
            <col className="w-power" />
            <col className="w-slots" />
            <col />
          </colgroup>
          <thead>
            <tr>
              <th scope="col" className="w-first">
                {t("column.device")}
              </th>
              <th scope="col">{t("column.use")}</th>
              <th scope="col">{t("column.memory")}</th>
              <th scope="col" className="num">
                {t("column.temperature")}
              </th>
              <th scope="col" className="num">
                {t("column.power")}
              </th>
              <th scope="col" className="w-gap">
                {t("column.slots")}
              </th>
              <th scope="col">{t("column.runs")}</th>
            </tr>
          </thead>
          {workers.map((worker) => (
            <Machine key={worker.worker_id} worker={worker} runs={runs} />
          ))}
        </table>
        {alone && <NoWorkers />}
      </section>
    </>
  );
}

function NoWorkers() {
  const { t } = useTranslation("workers");
  return (
    <div className="empty workers-empty">
      <Icon name="workers" size={40} className="empty-icon" />
      <h2>{t("emptyTitle")}</h2>
      <p>{t("emptyText")}</p>
      <StartCommand name="worker-1" />
      <p>{t("addToken")}</p>
    </div>
  );
}

function Pill({ tone, icon, children }: { tone: string; icon: IconName; children: ReactNode }) {
  return (
    <span className={`pill ${tone}`}>
      <span className={tone === "idle" ? "" : tone}>
        <Icon name={icon} />
      </span>
      {children}
    </span>
  );
}

/** The words of a worker's state. */
function stateWords(worker: WorkerStatus, t: (key: string) => string): string {
  const words: string[] = [];
  if (worker.state === "disconnected") words.push(t("state.disconnected"));
  else if (worker.state !== "online") words.push(t("state.offline"));
  else if (!worker.outdated) words.push(t("state.ready"));
  if (worker.outdated) words.push(t("state.outdated"));
  if (worker.draining) words.push(t("state.draining"));
  return words.join(t("comma"));
}

function StatePills({ worker }: { worker: WorkerStatus }) {
  const { t } = useTranslation("workers");
  const format = useFormat();
  const away = useAwaySince();
  if (away !== null) {
    return (
      <Pill tone="idle" icon="stale">
        {t("state.lastKnown", { state: stateWords(worker, t), time: format.time(away) })}
      </Pill>
    );
  }
  return (
    <>
      {worker.state === "online" && !worker.outdated && (
        <Pill tone="ok" icon="succeeded">
          {t("state.ready")}
        </Pill>
      )}
      {worker.state === "disconnected" && (
        <Pill tone="warn" icon="disconnected">
          {t("state.disconnected")}
        </Pill>
      )}
      {worker.state !== "online" && worker.state !== "disconnected" && (
        <Pill tone="idle" icon="offline">
          {t("state.offline")}
        </Pill>
      )}
      {worker.outdated && (
        <Pill tone="warn" icon="degraded">
          {t("state.outdated")}
        </Pill>
      )}
      {worker.draining && (
        <Pill tone="idle" icon="draining">
          {t("state.draining")}
        </Pill>
      )}
    </>
  );
}

/** What is known of a machine, in one line. */
function useAbout(worker: WorkerStatus): string {
  const { t } = useTranslation("workers");
  const format = useFormat();
  const away = useAwaySince() !== null;
  const now = useNow(!away && worker.state === "online" && worker.worker_id !== "local", 5000);
  if (worker.worker_id === "local") return t("localAbout", { version: worker.product_version });
  const parts: string[] = [];
  if (away && worker.last_heard_at !== null) {
    parts.push(t("lastHeard", { time: format.time(worker.last_heard_at) }));
  } else if (worker.last_heard_at === null) parts.push(t("neverHeard"));
  else if (worker.state === "online") {
    const ago = Math.max(0, Math.round(now - worker.last_heard_at));
    parts.push(ago < 3 ? t("heardNow") : t("heard", { time: format.duration(ago) }));
  } else parts.push(t("lastHeard", { time: format.time(worker.last_heard_at) }));
  parts.push(worker.product_version, worker.platform);
  if (worker.same_machine) parts.push(t("sameMachine"));
  return parts.filter(Boolean).join(t("comma"));
}

interface MachineProps {
  worker: WorkerStatus;
  runs: ReadonlyMap<string, RunSummary>;
}

function Machine({ worker, runs }: MachineProps) {
  const { t } = useTranslation("workers");
  const word = useReason();
  const about = useAbout(worker);
  const drain = useDrainWorker();
  const away = useAwaySince() !== null;
  const local = worker.worker_id === "local";
  const name = local ? t("local") : worker.worker_id;
  return (
    <tbody data-worker={worker.worker_id}>
      <tr className="machine">
        <th colSpan={COLUMNS} scope="rowgroup">
          <div className="row machine-row">
            <span className="machine-name">{name}</span>
            <StatePills worker={worker} />
            <span className="text-12 ink-3 clip grow plain">{about}</span>
            <Tip text={t("drainHint")}>
              <Button
                size="s"
                aria-label={t(worker.draining ? "undrainNamed" : "drainNamed", { worker: name })}
                isDisabled={drain.isPending || away}
                onPress={() => drain.mutate({ workerId: worker.worker_id, drain: !worker.draining })}
              >
                {t(worker.draining ? "undrain" : "drain")}
              </Button>
            </Tip>
          </div>
          {worker.outdated && (
            <div className="note warn machine-note">
              <Icon name="degraded" />
              <span className="grow">
                {t("outdatedText")} <code className="mono">pip install --upgrade codefy-agent</code>
              </span>
            </div>
          )}
          {drain.error instanceof ApiProblem && (
            <p className="note bad machine-note" role="alert">
              <Icon name="warning" />
              {t("actionFailed", { worker: name, message: word(drain.error) })}
            </p>
          )}
        </th>
      </tr>
      {worker.devices.map((status) => (
        <DeviceRow
          key={status.device.uuid ?? status.device.name}
          status={status}
          worker={worker}
          runs={runs}
        />
      ))}
      {worker.devices.length === 0 && (
        <tr>
          <td colSpan={COLUMNS} className="w-first text-12 ink-3">
            {t("noDevices")}
          </td>
        </tr>
      )}
    </tbody>
  );
}

interface DeviceProps {
  status: DeviceStatus;
  worker: WorkerStatus;
  runs: ReadonlyMap<string, RunSummary>;
}

function DeviceRow({ status, worker, runs }: DeviceProps) {
  const { t } = useTranslation("workers");
  const { device, slots } = status;
  const format = useFormat();
  const away = useAwaySince();
  // What a machine said before it was lost is history, not its state.
  const fresh = worker.state === "online" && away === null;
  return (
    <tr>
      <td className="w-first">
        <span className="two">
          <span className="mono device-name">{device.name}</span>
          <span className="text-12 ink-3">{device.label ?? ""}</span>
        </span>
      </td>
      <td>
        {fresh && device.load != null && (
          <span className="row">
            <Meter fraction={device.load} />
            <span className="mono ink-2 use-number">{Math.round(device.load * 100)} %</span>
          </span>
        )}
      </td>
      <td>{fresh && <Memory status={status} />}</td>
      <td className="num mono ink-2">
        {fresh && device.temperature != null ? `${Math.round(device.temperature)} °C` : ""}
      </td>
      <td className="num mono ink-2">
        {fresh && device.power_watts != null ? `${Math.round(device.power_watts)} W` : ""}
      </td>
      <td className="w-gap">
        <span
          className={away === null ? "row slots" : "row slots stale"}
          role="img"
          aria-label={
            away === null
              ? t("slots", { used: slots.used, limit: slots.limit })
              : t("slotsThen", { used: slots.used, limit: slots.limit, time: format.time(away) })
          }
          title={away === null ? undefined : t("asOf", { time: format.time(away) })}
        >
          {slots.limit <= 8 &&
            Array.from({ length: slots.limit }, (_, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: slots have no identity of their own
              <i key={i} className={i < slots.used ? "slot busy" : "slot"} />
            ))}
          <span className="text-12 ink-2">
            {slots.used}/{slots.limit}
          </span>
        </span>
      </td>
      <td>
        {slots.run_ids.length === 0 ? (
          <span className="text-12 ink-3">{away === null ? t("free") : "–"}</span>
        ) : (
          <span className="device-runs">
            {slots.run_ids.map((runId) => (
              <RunLink key={runId} runId={runId} run={runs.get(runId)} />
            ))}
          </span>
        )}
      </td>
    </tr>
  );
}

function Memory({ status }: { status: DeviceStatus }) {
  const format = useFormat();
  const { memory_total: total, memory_free: free } = status.device;
  if (total == null || free == null) return null;
  return (
    <span className="two device-memory">
      <span className="mono ink-2">{format.memoryOf(total - free, total)}</span>
      <Meter fraction={(total - free) / total} />
    </span>
  );
}

/** A share as a bar. Decoration: the number stands beside it. */
function Meter({ fraction }: { fraction: number }) {
  const share = Math.max(0, Math.min(1, fraction));
  return (
    <span className="bar meter" aria-hidden="true">
      <i style={{ width: `${share * 100}%` }} />
    </span>
  );
}

function RunLink({ runId, run }: { runId: string; run: RunSummary | undefined }) {
  return (
    <Link href={`/runs/${runId}`} className="row device-run">
      <StateMark state={run ? stateOf(run.status) : "running"} />
      <span className="clip">{run ? run.name || run.graph_name : runId.slice(0, 8)}</span>
      {run && <span className="text-12 ink-3">{run.number}</span>}
    </Link>
  );
}
