import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, api, useFleetMutation, useWorkers } from "../api";
import type { WorkerStatus } from "../api/types";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { NumberField } from "../ui/NumberField";
import { Select } from "../ui/Select";
import { secretsOf } from "./model/secrets";
import { useEditor } from "./store/editor";
import { documentOf } from "./store/graph-store";
import { rememberRun } from "./store/runs";
import { secretsFor } from "./store/secrets";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { useWords } from "./words";

/** Where a queued run is to go: this server or one of the workers, and on which of its devices. */
export default function QueueDialog() {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const words = useWords();
  const open = useStageUi((state) => state.queueOpen);
  const { data } = useWorkers();
  const workers = data?.workers ?? [];
  const [where, setWhere] = useState("local");
  const [device, setDevice] = useState<string | null>(null);
  const [seed, setSeed] = useState<number | null>(null);
  const close = () => useStageUi.setState({ queueOpen: false });
  const worker = workers.find((candidate) => candidate.worker_id === where) ?? workers[0];
  const devices = worker?.devices.map((entry) => entry.device.name) ?? ["cpu"];
  const chosenDevice = device !== null && devices.includes(device) ? device : (devices[0] ?? "cpu");

  const queue = useFleetMutation(async () => {
    const graph = documentOf(store.getState());
    const secrets = await secretsFor(secretsOf(graph));
    if (secrets === null) return null;
    return api.submitRun({
      graph,
      name: store.getState().name,
      ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
      options: {
        lane: "queued",
        device: chosenDevice,
        ...(seed === null ? {} : { seed }),
        ...(worker === undefined || worker.worker_id === "local"
          ? {}
          : { target: { worker: worker.worker_id } }),
      },
    });
  });
  const submit = () =>
    queue.mutate(undefined, {
      onSuccess: (run) => {
        if (run === null) return;
        const { name } = store.getState();
        rememberRun(name, run.run_id);
        store.getState().set({ runId: run.run_id });
        useStageUi.setState({
          queueOpen: false,
          notice: {
            tone: "live",
            queued: { runId: run.run_id, since: Date.now() },
            text: t("queued", { number: run.number }),
            detail:
              run.queue_position === null
                ? undefined
                : t("queuePosition", { position: run.queue_position, queue: run.queue_key }),
          },
        });
      },
      onError: (error) => {
        if (error instanceof ApiProblem && error.problems.length > 0) {
          store.getState().set({ problems: error.problems, checked: true });
          useView.getState().set({ dockOpen: true, dockTab: "problems" });
        }
      },
    });

  const refusal = queue.error;
  return (
    <Dialog
      title={t("queueTitle")}
      open={open}
      onClose={close}
      width={560}
      foot={
        <>
          <span className="grow text-12 ink-2">
            {worker === undefined ? "" : outlook(worker, chosenDevice, t)}
          </span>
          <Button onPress={close}>{t("cancel", { ns: "common" })}</Button>
          <Button kind="primary" onPress={submit} isDisabled={queue.isPending || worker === undefined}>
            {t("queue")}
          </Button>
        </>
      }
    >
      <div className="queue-form">
        <fieldset className="queue-places">
          <legend className="text-12 ink-2">{t("where")}</legend>
          {workers.map((candidate) => (
            <label key={candidate.worker_id} className="queue-place">
              <input
                type="radio"
                name="where"
                value={candidate.worker_id}
                checked={candidate === worker}
                onChange={() => setWhere(candidate.worker_id)}
              />
              <span className="grow col">
                <span>
                  {candidate.worker_id === "local" ? t("thisServer") : candidate.label || candidate.worker_id}
                </span>
                <span className="text-12 ink-3 clip">
                  {candidate.devices.map((entry) => entry.device.label || entry.device.name).join(", ")}
                </span>
              </span>
              <span
                className={
                  candidate.state === "online" && !candidate.draining ? "ok row text-12" : "warn row text-12"
                }
              >
                <Icon
                  name={
                    candidate.state === "online"
                      ? candidate.draining
                        ? "draining"
                        : "succeeded"
                      : "disconnected"
                  }
                />
                <span className="ink-2">{placeState(candidate, t)}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <div className="form-row">
          <span>{t("device")}</span>
          <Select
            label={t("device")}
            options={devices.map((name) => ({ id: name, label: name }))}
            value={chosenDevice}
            onChange={setDevice}
          />
        </div>
        <div className="form-row">
          <span>{t("seed")}</span>
          <NumberField
            label={t("seed")}
            value={seed}
            onChange={setSeed}
            integer
            min={0}
            max={2 ** 31 - 1}
            placeholder={t("seedOfGraph")}
            up={t("increase", { ns: "common" })}
            down={t("decrease", { ns: "common" })}
          />
        </div>
        {refusal !== null && (
          <p className="note bad" role="alert">
            <Icon name="failed" />
            <span>{refusal instanceof ApiProblem ? words.problem(refusal) : String(refusal.message)}</span>
          </p>
        )}
      </div>
    </Dialog>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

function slots(worker: WorkerStatus): { used: number; limit: number } {
  return worker.devices.reduce(
    (sum, entry) => ({ used: sum.used + entry.slots.used, limit: sum.limit + entry.slots.limit }),
    { used: 0, limit: 0 },
  );
}

function placeState(worker: WorkerStatus, t: Translate): string {
  if (worker.state !== "online") return t(`workerState.${worker.state}`, { defaultValue: worker.state });
  if (worker.draining) return t("workerState.draining");
  const { used, limit } = slots(worker);
  return t("slotsBusy", { used, limit });
}

/** One sentence on what will happen. */
function outlook(worker: WorkerStatus, device: string, t: Translate): string {
  const name = worker.worker_id === "local" ? t("thisServerInside") : worker.worker_id;
  if (worker.state !== "online") return t("outlook.offline", { name });
  if (worker.draining) return t("outlook.draining", { name });
  const entry = worker.devices.find((candidate) => candidate.device.name === device);
  const free = entry === undefined || entry.slots.used < entry.slots.limit;
  return t(free ? "outlook.now" : "outlook.waits", { name, device });
}
