import { describe, expect, it } from "vitest";
import { LiveRunBuilder } from "./live-run";
import type { StoredEvent } from "./types";

function event(cursor: number, type: string, payload: unknown, ts = cursor): StoredEvent {
  return { cursor, type, payload, ts };
}

const RUN = [
  event(1, "execution_start", { name: "r", device: "cpu", node_count: 2 }, 100),
  event(2, "node_status", { node_id: "a", status: "running" }, 101),
  event(3, "node_progress", { node_id: "a", fraction: 0.5, epoch: 1, epochs: 2 }, 102),
  event(4, "inner_node_status", { node_id: "a", path: ["net", "fc"], status: "built", parameters: 12 }, 103),
  event(5, "run_warning", { code: "nonfinite_loss", message: "The loss is NaN.", node_id: "a" }, 104),
  event(
    6,
    "node_status",
    { node_id: "a", status: "succeeded", duration_s: 4, outputs: { out: { summary: "ok" } } },
    105,
  ),
  event(7, "execution_complete", { duration_s: 5 }, 106),
];

describe("a live run", () => {
  it("is the sum of its events", () => {
    const builder = new LiveRunBuilder("r");
    builder.addEvents(RUN);
    builder.end();
    expect(builder.flush()).toBe(true);
    const run = builder.current;
    expect(run).toMatchObject({
      status: "succeeded",
      startedAt: 100,
      endedAt: 106,
      durationS: 5,
      complete: true,
    });
    expect(run.events).toEqual(RUN);
    expect(run.nodes.a).toMatchObject({
      status: "succeeded",
      startedAt: 101,
      durationS: 4,
      progress: { fraction: 0.5 },
      outputs: { out: { summary: "ok" } },
      inner: { "net/fc": { parameters: 12, status: "built" } },
    });
    expect(run.nodes.a?.warnings).toHaveLength(1);
    expect(run.warnings).toHaveLength(1);
  });

  it("is the same however the events were cut into batches", () => {
    const whole = new LiveRunBuilder("r");
    whole.addEvents(RUN);
    whole.flush();
    const pieces = new LiveRunBuilder("r");
    for (const one of RUN) {
      pieces.addEvents([one]);
      pieces.flush();
    }
    expect({ ...pieces.current, version: 0 }).toEqual({ ...whole.current, version: 0 });
  });

  it("keeps every part that did not change", () => {
    const builder = new LiveRunBuilder("r");
    builder.addEvents(RUN.slice(0, 4));
    builder.addMetrics(
      [
        { name: "loss", value: 1, step: 1 },
        { name: "lr", value: 1, step: 1 },
      ],
      2,
    );
    builder.flush();
    const before = builder.current;
    builder.addMetrics([{ name: "loss", value: 0.5, step: 2 }], 3);
    builder.flush();
    const after = builder.current;
    expect(after).not.toBe(before);
    expect(after.nodes).toBe(before.nodes);
    expect(after.events).toBe(before.events);
    expect(after.series[1]).toBe(before.series[1]);
    expect(after.series[0]).not.toBe(before.series[0]);
    expect(before.series[0]?.length).toBe(1);
    builder.addEvents([event(5, "node_status", { node_id: "b", status: "running" })]);
    builder.flush();
    expect(builder.current.nodes.a).toBe(after.nodes.a);
    expect(builder.flush()).toBe(false);
  });

  it("remembers where to go on", () => {
    const builder = new LiveRunBuilder("r");
    builder.addEvents(RUN.slice(0, 3));
    builder.addMetrics([{ name: "loss", value: 1, step: 1 }], 9);
    expect([builder.cursor, builder.metricsCursor]).toEqual([3, 9]);
  });

  it("leaves no node running when the process was killed", () => {
    const builder = new LiveRunBuilder("r");
    builder.addEvents([
      ...RUN.slice(0, 2),
      event(3, "node_status", { node_id: "b", status: "running" }),
      event(4, "execution_error", { error: { code: "child_died", message: "killed", node_id: "b" } }),
    ]);
    builder.flush();
    expect(builder.current.status).toBe("failed");
    expect(builder.current.error?.code).toBe("child_died");
    expect(builder.current.nodes.b?.status).toBe("failed");
    expect(builder.current.nodes.a?.status).toBe("cancelled");
  });
});

describe("metric series", () => {
  it("keep values that are no finite number, and grow beyond any first size", () => {
    const builder = new LiveRunBuilder("r");
    const points = Array.from({ length: 1000 }, (_, i) => ({
      name: "loss",
      value: i === 500 ? "NaN" : i === 501 ? "-Infinity" : i,
      step: i + 1,
      scope: "step",
      node_id: "train",
      ts: i,
    }));
    builder.addMetrics(points, 1000);
    builder.addMetrics(
      [{ name: "loss", value: 7, step: 1000, epoch: 1, scope: "epoch", node_id: "train" }],
      1001,
    );
    builder.flush();
    const [steps, epochs] = builder.current.series;
    expect(steps).toMatchObject({ name: "loss", scope: "step", nodeId: "train", length: 1000 });
    expect(steps?.values[500]).toBeNaN();
    expect(steps?.values[501]).toBe(Number.NEGATIVE_INFINITY);
    expect(steps?.values[999]).toBe(999);
    expect(steps?.epochs[0]).toBeNaN();
    expect(epochs?.epochs[0]).toBe(1);
  });
});
