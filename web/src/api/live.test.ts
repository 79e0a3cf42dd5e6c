import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakeLine, type Line } from "../testing/fake-socket";
import { LiveRuns } from "./live";

const start = { cursor: 1, type: "execution_start", ts: 1, payload: {} };
const end = { cursor: 2, type: "execution_complete", ts: 2, payload: {} };

describe("runs that a page follows", () => {
  let line: Line;
  let frames: (() => void)[];
  let runs: LiveRuns;

  beforeEach(() => {
    vi.useFakeTimers();
    line = fakeLine();
    frames = [];
    runs = new LiveRuns(
      () => line.socket,
      (callback) => frames.push(callback),
    );
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const drawFrame = () => {
    for (const frame of frames.splice(0)) frame();
  };

  it("share one subscription among all users", () => {
    runs.use("r");
    runs.use("r");
    line.last().open();
    expect(line.last().of("attach")).toHaveLength(1);
  });

  it("show what came once per frame", () => {
    runs.use("r");
    line.last().open();
    const told = vi.fn();
    runs.store.subscribe(told);
    line.last().say({ type: "events", run_id: "r", events: [start] });
    line.last().say({
      type: "metrics",
      run_id: "r",
      metrics_cursor: 1,
      points: [{ name: "loss", value: 1, step: 1 }],
    });
    expect(told).not.toHaveBeenCalled();
    expect(frames).toHaveLength(1);
    drawFrame();
    expect(told).toHaveBeenCalledTimes(1);
    expect(runs.store.getState().runs.r).toMatchObject({
      status: "running",
      series: [{ name: "loss", length: 1 }],
    });
  });

  it("stay attached when a component is taken away and put back", () => {
    const leave = runs.use("r");
    line.last().open();
    leave();
    runs.use("r");
    vi.advanceTimersByTime(5_000);
    expect(line.last().of("detach")).toEqual([]);
  });

  it("are let go when nobody looks, and go on from there later", () => {
    const leave = runs.use("r");
    line.last().open();
    line.last().say({ type: "events", run_id: "r", events: [start] });
    leave();
    vi.advanceTimersByTime(1_000);
    expect(line.last().of("detach")).toHaveLength(1);
    line.last().say({ type: "pong" });
    runs.use("r");
    expect(line.last().of("attach").at(-1)).toMatchObject({ cursor: 1 });
    line.last().say({ type: "events", run_id: "r", events: [end] });
    drawFrame();
    expect(runs.store.getState().runs.r?.events.map((one) => one.cursor)).toEqual([1, 2]);
  });

  it("are not asked for again once all of them is here", () => {
    const leave = runs.use("r");
    line.last().open();
    line.last().say({ type: "events", run_id: "r", events: [start, end] });
    line.last().say({ type: "ended", run_id: "r" });
    leave();
    vi.advanceTimersByTime(1_000);
    runs.use("r");
    drawFrame();
    expect(line.last().of("attach")).toHaveLength(1);
    expect(runs.store.getState().runs.r).toMatchObject({ complete: true, status: "succeeded" });
  });

  it("keep only some runs that nobody looks at", () => {
    for (let i = 0; i < 30; i++) runs.use(`r${i}`)();
    const leave = runs.use("kept");
    vi.advanceTimersByTime(1_000);
    drawFrame();
    const names = Object.keys(runs.store.getState().runs);
    expect(names).toHaveLength(13);
    expect(names).toContain("kept");
    expect(names).toContain("r29");
    leave();
  });

  it("follow a submitted run from its first event", async () => {
    const accepted = runs.submit({ nodes: [] });
    line.last().open();
    line.last().say({ type: "accepted", id: line.last().of("run")[0]?.id, run_id: "new", number: 3 });
    line.last().say({ type: "events", run_id: "new", events: [start] });
    expect((await accepted).run_id).toBe("new");
    runs.use("new");
    drawFrame();
    expect(line.last().of("attach")).toEqual([]);
    expect(runs.store.getState().runs.new?.status).toBe("running");
  });

  it("say why a run cannot be followed", () => {
    runs.use("gone");
    line.last().open();
    const id = line.last().of("attach")[0]?.id;
    line
      .last()
      .say({ type: "error", id, code: "run_not_found", message: "There is no run gone.", params: {} });
    drawFrame();
    expect(runs.store.getState().runs.gone?.refusal?.code).toBe("run_not_found");
  });
});
