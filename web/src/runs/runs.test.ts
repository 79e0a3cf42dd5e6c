import i18next from "i18next";
import { describe, expect, it } from "vitest";
import type { RunDetail, RunSummary, StoredEvent } from "../api";
import { LiveRunBuilder } from "../api/live-run";
import { durationText, makeFormat } from "../i18n/format";
import { windowOf } from "../ui/use-window";
import { eventText, nodeOf } from "./event-words";
import { artifactNote, bestOf, factText } from "./facts";
import { graphSeed, nodeNames } from "./graph-names";
import { sameGraph } from "./open-on-canvas";
import { matches, merged, unaccounted, vanished } from "./run-list";
import { headline, progressText, stateDetail, tookSeconds, whereOf } from "./run-words";
import { timelineOf } from "./timeline";

const WORDS = { day: " d", hour: " h", minute: " min", second: " s", gap: " ", dayGap: ", " };
const format = makeFormat("en", WORDS);
const t = i18next.t;
const plain = (reason: { message: string }) => reason.message;

function row(number: number, more: Partial<RunSummary> = {}): RunSummary {
  return {
    run_id: `r${number}`,
    number,
    name: "",
    graph_name: "digits-cnn",
    lane: "queued",
    status: "succeeded",
    attempt: 1,
    queue_key: "cpu",
    device: "cpu",
    devices: ["cpu"],
    created_at: 1000,
    ...more,
  };
}

describe("the list of runs", () => {
  it("puts pages together, newest first, the later state of a run counts", () => {
    const rows = merged([row(2, { status: "running" }), row(1)], [row(3), row(2)]);
    expect(rows.map((run) => [run.number, run.status])).toEqual([
      [3, "succeeded"],
      [2, "succeeded"],
      [1, "succeeded"],
    ]);
  });

  it("knows live rows that a fresh page does not reach", () => {
    const rows = [row(3), row(2, { status: "running" }), row(1, { status: "queued" })];
    expect(unaccounted(rows, [row(3), row(2)])).toEqual(["r1"]);
  });

  it("drops rows that the newest page should hold", () => {
    const rows = [row(4), row(3), row(2), row(1)];
    expect(vanished(rows, [row(4), row(2)], false)).toEqual(["r3"]);
    expect(vanished(rows, [row(4), row(2)], true)).toEqual(["r3", "r1"]);
    expect(vanished(rows, [], true)).toHaveLength(4);
  });

  it("finds by words and by number", () => {
    const run = row(12, { name: "wider stem", worker_id: "gpu-box-1" });
    for (const text of ["", "wider", "STEM digits", "gpu-box", "12", "#12", "r12"])
      expect(matches(run, text), text).toBe(true);
    for (const text of ["2", "narrow", "wider wine"]) expect(matches(run, text), text).toBe(false);
  });

  it("draws only what is in view", () => {
    expect(windowOf(44 * 100, 440, 44, 10_000, 2)).toEqual({
      first: 98,
      end: 112,
      before: 98 * 44,
      after: 9888 * 44,
    });
    expect(windowOf(0, 440, 44, 3, 2)).toEqual({ first: 0, end: 3, before: 0, after: 0 });
    expect(windowOf(9999, 440, 44, 3)).toMatchObject({ first: 3, end: 3 });
  });
});

describe("a run in words", () => {
  it("says why it waits", () => {
    const queued = { status: "queued", queue_key: "w1/cpu" } as const;
    expect(stateDetail(t, format, plain, row(1, { ...queued, queue_position: 1 }))).toBe("next for w1/cpu");
    expect(stateDetail(t, format, plain, row(1, { ...queued, queue_position: 3 }))).toBe(
      "number 3 for w1/cpu",
    );
    const reason = {
      queue_reason: "worker w1 is draining",
      queue_reason_code: "worker_draining",
      queue_reason_params: {},
    };
    expect(stateDetail(t, format, plain, row(1, { ...queued, ...reason }))).toBe("worker w1 is draining");
  });

  it("says how far it is", () => {
    const progress = { node_id: "train", fraction: 0.6, epoch: 13, epochs: 20, eta_s: 38.2 };
    expect(progressText(t, format, progress)).toBe("epoch 13 of 20, 39 s left");
    expect(
      progressText(t, format, { node_id: "x", fraction: 0.1, current: 5, total: 2000, unit: "steps" }),
    ).toBe("5 / 2,000 steps");
    expect(stateDetail(t, format, plain, row(1, { status: "running", progress }))).toContain(
      "epoch 13 of 20",
    );
    expect(stateDetail(t, format, plain, row(1, { status: "running", cancel_requested: true }))).toBe(
      "stopping…",
    );
  });

  it("shows the metric that says most", () => {
    expect(headline({ loss: 1, lr: 0.1, val_accuracy: 0.9 })).toEqual({ name: "val_accuracy", value: 0.9 });
    expect(headline({ loss: "NaN" })?.value).toBeNaN();
    expect(headline({ dice: 0.7 })).toEqual({ name: "dice", value: 0.7 });
    expect(headline({})).toBeNull();
  });

  it("says where", () => {
    expect(whereOf(t, row(1)).machine).toBe("this server");
    expect(whereOf(t, row(1, { queue_key: "any/cuda", devices: [], device: "cuda" }))).toEqual({
      machine: "any",
      devices: "cuda",
    });
    expect(
      whereOf(t, row(1, { queue_key: "any/cuda", worker_id: "w1", devices: ["cuda:0", "cuda:1"] })),
    ).toEqual({
      machine: "w1",
      devices: "cuda:0, cuda:1",
    });
  });

  it("counts its time from the start", () => {
    expect(tookSeconds(row(1), 5)).toBeNull();
    expect(tookSeconds(row(1, { started_at: 10 }), 15)).toBe(5);
    expect(tookSeconds(row(1, { started_at: 10, ended_at: 12 }), 15)).toBe(2);
  });

  it("writes durations as people say them", () => {
    expect([0.42, 9.96, 59.4, 59.6, 72, 124, 2460, 3960, 90_000].map((s) => durationText(s, WORDS))).toEqual([
      "0.4 s",
      "10 s",
      "59 s",
      "1 min 00 s",
      "1 min 12 s",
      "2 min 04 s",
      "41 min",
      "1 h 06 min",
      "1 d 01 h",
    ]);
  });

  it("writes sizes as people say them", () => {
    expect([999, 88_064, 1_500_000, 999_900].map(format.size)).toEqual(["999 B", "88 kB", "1.5 MB", "1 MB"]);
    expect(format.memory(1.2 * 2 ** 30)).toBe("1.2 GiB");
    expect(format.memoryOf(17.2 * 2 ** 30, 24 * 2 ** 30)).toBe("17.2 / 24 GiB");
    expect(format.memoryOf(0.4 * 2 ** 30, 24 * 2 ** 30)).toBe("0.4 / 24 GiB");
  });
});

function liveOf(events: [string, unknown, number][]) {
  const builder = new LiveRunBuilder("r1");
  builder.addEvents(
    events.map(([type, payload, ts], i): StoredEvent => ({ cursor: i + 1, type, payload, ts })),
  );
  builder.flush();
  return builder.current;
}

describe("the timeline", () => {
  const run = row(1, { created_at: 0, started_at: 10, ended_at: 100 });

  it("tells waiting, starting and nodes, to scale and without overlap", () => {
    const live = liveOf([
      ["node_status", { node_id: "data", status: "running" }, 12],
      ["node_status", { node_id: "data", status: "succeeded", duration_s: 8 }, 20],
      ["node_status", { node_id: "side", status: "running" }, 18],
      ["node_status", { node_id: "train", status: "running" }, 20],
      ["node_status", { node_id: "side", status: "succeeded", duration_s: 4 }, 22],
      ["node_status", { node_id: "train", status: "succeeded", duration_s: 75 }, 95],
    ]);
    const parts = timelineOf(run, live, 999);
    expect(parts.map((part) => [part.kind, part.nodeId ?? "", part.from, part.to])).toEqual([
      ["queued", "", 0, 10],
      ["start", "", 10, 12],
      ["node", "data", 12, 20],
      ["node", "train", 20, 95],
      ["rest", "", 95, 100],
    ]);
    expect(parts.reduce((sum, part) => sum + part.to - part.from, 0)).toBe(100);
  });

  it("shows the time without a connection", () => {
    const live = liveOf([
      ["node_status", { node_id: "train", status: "running" }, 10],
      ["run_warning", { code: "worker_disconnected", message: "" }, 40],
      ["run_warning", { code: "worker_reconnected", message: "" }, 60],
      ["node_status", { node_id: "train", status: "succeeded", duration_s: 90 }, 100],
    ]);
    expect(timelineOf(run, live, 0).map((part) => [part.kind, part.from, part.to])).toEqual([
      ["queued", 0, 10],
      ["node", 10, 40],
      ["offline", 40, 60],
      ["node", 60, 100],
    ]);
  });

  it("gives a node whose process was killed the time until then", () => {
    const live = liveOf([
      ["node_status", { node_id: "train", status: "running" }, 20],
      ["execution_error", { error: { code: "child_died", message: "" } }, 100],
    ]);
    expect(timelineOf(run, live, 0).at(-1)).toEqual({ kind: "node", from: 20, to: 100, nodeId: "train" });
  });

  it("grows while the run waits or runs", () => {
    expect(timelineOf(row(1, { created_at: 0, status: "queued" }), undefined, 7)).toEqual([
      { kind: "queued", from: 0, to: 7 },
    ]);
    const live = liveOf([["node_status", { node_id: "train", status: "running" }, 10]]);
    expect(timelineOf(row(1, { created_at: 10, started_at: 10 }), live, 30)).toEqual([
      { kind: "node", from: 10, to: 30, nodeId: "train" },
    ]);
  });
});

describe("facts", () => {
  const detail = {
    ...row(1, { latest_metrics: { val_loss: 0.3 } }),
    graph: {},
    options: {},
    graph_hash: "",
  } as RunDetail;

  it("tell the best value and where it was", () => {
    const builder = new LiveRunBuilder("r1");
    const point = (value: number | string, epoch: number) => ({
      name: "val_loss",
      value,
      step: epoch * 10,
      epoch,
      scope: "epoch",
    });
    builder.addMetrics([point(0.5, 1), point("NaN", 2), point(0.2, 3), point(0.3, 4)], 4);
    builder.flush();
    expect(bestOf(detail, builder.current)).toEqual({ name: "val_loss", value: 0.2, epoch: 3 });
    expect(bestOf(detail, undefined)).toEqual({ name: "val_loss", value: 0.3 });
  });

  it("fit in a line", () => {
    expect(factText({ "cuda:0": "cuda:2" })).toBe("cuda:0: cuda:2");
    expect(factText(["a", 1])).toBe("a, 1");
    expect([null, [], {}, ""].map(factText)).toEqual(["–", "–", "–", "–"]);
  });

  it("tell an artifact's place in the training", () => {
    const artifact = (meta: Record<string, unknown>) => artifactNote({ meta } as never);
    expect(artifact({ epoch: 17, val_loss: 1 })).toEqual({ epoch: 17 });
    expect(artifact({ accuracy: 0.97407 })).toEqual({ note: "accuracy 0.974" });
    expect(artifact({})).toEqual({});
  });
});

describe("events", () => {
  it("read as one line", () => {
    const event = (type: string, payload: unknown): StoredEvent => ({ cursor: 1, ts: 0, type, payload });
    expect(
      eventText(
        event("node_status", { node_id: "a", status: "succeeded", outputs: { out: { summary: "3 rows" } } }),
      ),
    ).toBe("succeeded, out: 3 rows");
    expect(
      eventText(
        event("node_progress", {
          node_id: "a",
          text: "Epoch 1 of 2",
          current: 3,
          total: 8,
          unit: "steps",
          metrics: { loss: "NaN" },
        }),
      ),
    ).toBe("Epoch 1 of 2, 3 / 8 steps, loss NaN");
    expect(
      eventText(
        event("inner_node_status", {
          path: ["net", "fc"],
          status: "built",
          shape: [32, 10],
          parameters: 330,
        }),
      ),
    ).toBe("net / fc, built, 32×10, 330 parameters");
    expect(eventText(event("execution_error", { error: { message: "It broke." } }))).toBe("It broke.");
    expect(eventText(event("execution_start", { device: "cpu", worker_id: null, node_count: 8 }))).toBe(
      "device cpu, node_count 8",
    );
    expect(eventText(event("odd", null))).toBe("");
    expect(nodeOf(event("x", { node_id: "a" }))).toBe("a");
    expect(nodeOf(event("x", null))).toBe("");
  });
});

describe("graphs of runs", () => {
  const graph = {
    name: "g",
    nodes: [
      { id: "a", type: "X", position: { x: 0, y: 0 }, data: { params: { n: 1 }, label: "First" } },
      { id: "b" },
    ],
    settings: { seed: 7 },
  };

  it("give names and the seed", () => {
    expect([...nodeNames(graph)]).toEqual([
      ["a", "First"],
      ["b", "b"],
    ]);
    expect(nodeNames("odd").size).toBe(0);
    expect(graphSeed(graph)).toBe(7);
    expect(graphSeed({})).toBeNull();
  });

  it("are the same wherever their nodes stand, and differ by what runs", () => {
    const moved = structuredClone(graph);
    if (moved.nodes[0]?.position) moved.nodes[0].position.x = 500;
    expect(sameGraph(graph, moved)).toBe(true);
    if (moved.nodes[0]?.data) moved.nodes[0].data.params.n = 2;
    expect(sameGraph(graph, moved)).toBe(false);
  });
});
