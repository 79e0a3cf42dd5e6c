import { describe, expect, it, vi } from "vitest";
import { fakeLine } from "../testing/fake-socket";
import type { RunSink, SocketRefusal } from "./socket";
import type { StoredEvent, StoredMetric } from "./types";

class Recorder implements RunSink {
  readonly cursors: number[] = [];
  readonly points: number[] = [];
  metricsCursor = 0;
  hasEnded = false;
  refusal: SocketRefusal | null = null;

  events(events: StoredEvent[]): void {
    this.cursors.push(...events.map((event) => event.cursor));
  }
  metrics(points: StoredMetric[], metricsCursor: number): void {
    this.points.push(...points.map((point) => point.step));
    this.metricsCursor = metricsCursor;
  }
  ended(): void {
    this.hasEnded = true;
  }
  refused(error: SocketRefusal): void {
    this.refusal = error;
  }
}

function events(runId: string, from: number, to: number) {
  const list = [];
  for (let cursor = from; cursor <= to; cursor++)
    list.push({ cursor, type: "node_progress", ts: cursor, payload: {} });
  return { type: "events", run_id: runId, events: list };
}

function metrics(runId: string, from: number, to: number) {
  const points = [];
  for (let step = from; step <= to; step++) points.push({ name: "loss", value: 1 / step, step });
  return { type: "metrics", run_id: runId, metrics_cursor: to, points };
}

const START = { cursor: 0, metricsCursor: 0 };

describe("following a run", () => {
  it("attaches from the given cursors once the connection is open", () => {
    const line = fakeLine();
    line.socket.follow("r", new Recorder(), { cursor: 7, metricsCursor: 30 });
    expect(line.last().sent).toEqual([]);
    line.last().open();
    expect(line.last().of("attach")).toMatchObject([{ run_id: "r", cursor: 7, metrics_cursor: 30 }]);
  });

  it("goes on after a lost connection where it stopped, without a gap or a repeat", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("r", seen, START);
    line.last().open();
    line.last().say(events("r", 1, 3));
    line.last().say(metrics("r", 1, 20));
    line.last().break();
    expect(line.socket.state).toBe("waiting");
    line.timers.pass(60_000);
    line.last().open();
    expect(line.last().of("attach")).toMatchObject([{ cursor: 3, metrics_cursor: 20 }]);
    line.last().say(events("r", 4, 5));
    line.last().say(metrics("r", 21, 22));
    expect(seen.cursors).toEqual([1, 2, 3, 4, 5]);
    expect(seen.points).toHaveLength(22);
  });

  it("drops events and points that it has already", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("r", seen, START);
    line.last().open();
    line.last().say(events("r", 1, 4));
    line.last().say(events("r", 3, 6));
    line.last().say(metrics("r", 1, 4));
    line.last().say(metrics("r", 3, 6));
    line.last().say(metrics("r", 2, 5));
    expect(seen.cursors).toEqual([1, 2, 3, 4, 5, 6]);
    expect(seen.points).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("asks again from the last certain event when one is missing", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("r", seen, START);
    line.last().open();
    line.last().say(events("r", 1, 2));
    line.last().say(events("r", 4, 5));
    expect(seen.cursors).toEqual([1, 2]);
    line.timers.pass(60_000);
    line.last().open();
    expect(line.last().of("attach")).toMatchObject([{ cursor: 2 }]);
  });

  it("asks again when metric points are missing", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("r", seen, START);
    line.last().open();
    line.last().say(metrics("r", 1, 2));
    line.last().say(metrics("r", 5, 6));
    expect(seen.points).toEqual([1, 2]);
    expect(line.socket.state).toBe("waiting");
  });

  it("is over after `ended`, also for the next connection", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("r", seen, START);
    line.last().open();
    line.last().say(events("r", 1, 1));
    line.last().say({ type: "ended", run_id: "r" });
    expect(seen.hasEnded).toBe(true);
    line.last().break();
    line.timers.pass(60_000);
    line.last().open();
    expect(line.last().of("attach")).toEqual([]);
  });

  it("tells the sink why the server refuses", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("gone", seen, START);
    line.last().open();
    const [attach] = line.last().of("attach");
    line.last().say({
      type: "error",
      id: attach?.id,
      code: "run_not_found",
      message: "There is no run gone.",
      params: {},
    });
    expect(seen.refusal?.code).toBe("run_not_found");
  });

  it("does not take the rest of an old attachment for the new one", () => {
    const line = fakeLine();
    const first = new Recorder();
    const stop = line.socket.follow("r", first, START);
    line.last().open();
    line.last().say(metrics("r", 1, 2));
    stop();
    const second = new Recorder();
    line.socket.follow("r", second, { cursor: 0, metricsCursor: 2 });
    // Still on its way when the server read the detach.
    line.last().say(metrics("r", 3, 4));
    line.last().say({ type: "ended", run_id: "r" });
    expect(line.last().of("attach")).toHaveLength(1);
    line.last().say({ type: "pong" });
    expect(line.last().of("attach")).toHaveLength(2);
    line.last().say(metrics("r", 3, 5));
    expect(first.points).toEqual([1, 2]);
    expect(second.points).toEqual([3, 4, 5]);
    expect(second.hasEnded).toBe(false);
  });

  it("refuses a second sink for the same run", () => {
    const line = fakeLine();
    line.socket.follow("r", new Recorder(), START);
    expect(() => line.socket.follow("r", new Recorder(), START)).toThrow("followed already");
  });
});

describe("the connection", () => {
  it("backs off further with each failure, up to ten seconds", () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const tries = line.tries.length;
      line.last().break();
      const began = line.timers.now;
      while (line.tries.length === tries) line.timers.pass(10);
      waits.push(line.timers.now - began);
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10000, 10000]);
  });

  it("starts over with short waits once a connection lasted", () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    for (let i = 0; i < 5; i++) {
      line.last().break();
      line.timers.pass(10_000);
    }
    line.last().open();
    line.timers.pass(2_000);
    line.last().say({ type: "pong" });
    line.last().break();
    const tries = line.tries.length;
    line.timers.pass(250);
    expect(line.tries).toHaveLength(tries + 1);
  });

  it("is given up when a ping stays without answer", () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    line.last().open();
    line.timers.pass(2_000);
    expect(line.last().of("ping")).toHaveLength(1);
    line.timers.pass(14_000);
    expect(line.socket.state).toBe("open");
    line.timers.pass(1_000);
    expect(line.tries[0]?.closed).toBe(true);
    expect(line.socket.state).not.toBe("open");
  });

  it("counts anything that arrives as a sign of life", () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    line.last().open();
    line.timers.pass(3_000);
    line.last().say({ type: "runs_changed" });
    line.timers.pass(30_000);
    expect(line.socket.state).toBe("open");
  });

  it("does not wait when it is woken", () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    for (let i = 0; i < 6; i++) {
      line.last().break();
      line.timers.pass(10_000);
    }
    line.last().break();
    const tries = line.tries.length;
    line.socket.wake();
    expect(line.tries).toHaveLength(tries + 1);
    line.timers.pass(20_000);
    expect(line.tries).toHaveLength(tries + 1);
  });

  it("survives messages that it cannot read or does not know", () => {
    const line = fakeLine();
    const seen = new Recorder();
    line.socket.follow("r", seen, START);
    line.last().open();
    line.last().say("not json");
    line.last().say({ type: "of_a_later_version" });
    line.last().say(events("r", 1, 1));
    expect(seen.cursors).toEqual([1]);
  });

  it("leaves no timer behind when it is closed", () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    line.last().open();
    line.socket.close();
    expect(line.timers.count).toBe(0);
    expect(line.last().closed).toBe(true);
  });
});

describe("watching runs", () => {
  it("asks once and tells every listener", () => {
    const line = fakeLine();
    const [a, b] = [vi.fn(), vi.fn()];
    line.socket.watchRuns(a);
    line.socket.watchRuns(b);
    line.last().open();
    expect(line.last().of("watch_runs")).toHaveLength(1);
    line.last().say({ type: "runs_changed" });
    expect([a.mock.calls.length, b.mock.calls.length]).toEqual([1, 1]);
  });

  it("tells after a reconnection, since changes may have been missed", () => {
    const line = fakeLine();
    const told = vi.fn();
    line.socket.watchRuns(told);
    line.last().open();
    expect(told).not.toHaveBeenCalled();
    line.last().break();
    line.timers.pass(1_000);
    line.last().open();
    expect(told).toHaveBeenCalledTimes(1);
    expect(line.last().of("watch_runs")).toHaveLength(1);
  });
});

describe("running a graph", () => {
  it("has the sink ready before the first event arrives", async () => {
    const line = fakeLine();
    const seen = new Recorder();
    const accepted = line.socket.run({ nodes: [] }, { seed: 1 }, "try", () => seen);
    line.last().open();
    const [message] = line.last().of("run");
    expect(message).toMatchObject({ graph: { nodes: [] }, options: { seed: 1 }, name: "try" });
    line.last().say({ type: "accepted", id: message?.id, run_id: "new", number: 12 });
    line.last().say(events("new", 1, 2));
    expect(seen.cursors).toEqual([1, 2]);
    await expect(accepted).resolves.toEqual({ run_id: "new", number: 12 });
    expect(line.last().of("attach")).toEqual([]);
  });

  it("rejects with all problems of the graph", async () => {
    const line = fakeLine();
    const refused = line.socket.run({}, {}, "", () => new Recorder());
    line.last().open();
    const [message] = line.last().of("run");
    const problem = { message: "m", code: "input_missing", node_id: "a", params: {} };
    line.last().say({
      type: "error",
      id: message?.id,
      code: "invalid_graph",
      message: "1",
      params: {},
      problems: [problem],
    });
    await expect(refused).rejects.toMatchObject({ code: "invalid_graph", problems: [problem] });
  });

  it("says that nobody knows when the connection breaks before the answer, and does not run it twice", async () => {
    const line = fakeLine();
    const lost = line.socket.run({}, {}, "", () => new Recorder());
    line.last().open();
    line.last().break();
    await expect(lost).rejects.toMatchObject({ code: "connection_lost" });
    line.timers.pass(1_000);
    line.last().open();
    expect(line.last().of("run")).toEqual([]);
  });

  it("waits for the connection when it is down", async () => {
    const line = fakeLine();
    line.socket.watchRuns(() => {});
    line.last().break();
    void line.socket.run({}, {}, "", () => new Recorder());
    line.timers.pass(1_000);
    line.last().open();
    expect(line.last().of("run")).toHaveLength(1);
  });

  it("can be left", () => {
    const line = fakeLine();
    const left: (() => void)[] = [];
    void line.socket.run({}, {}, "", (_, unfollow) => {
      left.push(unfollow);
      return new Recorder();
    });
    line.last().open();
    line.last().say({ type: "accepted", id: line.last().of("run")[0]?.id, run_id: "new", number: 1 });
    left[0]?.();
    expect(line.last().of("detach")).toMatchObject([{ run_id: "new" }]);
  });
});
