// The runs that a page follows, as a zustand store. Batches are gathered and shown once per animation frame.
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { connection } from "./connection";
import { type LiveRun, LiveRunBuilder } from "./live-run";
import type { Accepted, ExecutionSocket, RunSink } from "./socket";
import type { RunOptions } from "./types";

interface LiveState {
  runs: Readonly<Record<string, LiveRun>>;
}

interface Entry {
  builder: LiveRunBuilder;
  users: number;
  unfollow: (() => void) | null;
  /** Order of last use. */
  used: number;
}

/** Runs that nobody looks at any more stay in memory up to this many, so that going back shows them at once. */
const KEPT_RUNS = 12;

/** Call back before the next frame is drawn; in a hidden page, which draws none, a little later. */
export function nextFrame(callback: () => void): void {
  if (typeof document !== "undefined" && document.visibilityState === "visible") {
    requestAnimationFrame(callback);
  } else {
    setTimeout(callback, 250);
  }
}

export class LiveRuns {
  readonly store = createStore<LiveState>(() => ({ runs: {} }));
  readonly #socket: () => ExecutionSocket;
  readonly #schedule: (callback: () => void) => void;
  readonly #entries = new Map<string, Entry>();
  #scheduled = false;
  #clock = 0;

  constructor(socket: () => ExecutionSocket, schedule: (callback: () => void) => void = nextFrame) {
    this.#socket = socket;
    this.#schedule = schedule;
  }

  /** Follow a run until the answer is called. Several users of one run share one subscription. */
  use(runId: string): () => void {
    const entry = this.#entry(runId);
    entry.users += 1;
    this.#follow(runId, entry);
    let done = false;
    return () => {
      if (done) return;
      done = true;
      entry.users -= 1;
      // React may take a component away and put it back at once: look again when that is settled.
      setTimeout(() => this.#settle(), 1000);
    };
  }

  /** Run a graph in the server, on the interactive lane, and follow it. Rejects with a SocketRefusal. */
  submit(
    graph: unknown,
    options: RunOptions = {},
    name = "",
    secrets: Readonly<Record<string, string>> = {},
  ): Promise<Accepted> {
    const sinkFor = (runId: string, unfollow: () => void) => {
      const entry = this.#entry(runId);
      entry.unfollow = unfollow;
      this.#changed();
      return this.#sink(entry);
    };
    return this.#socket().run(graph, options, name, sinkFor, secrets);
  }

  /** Ask for a run to stop; false when the connection is down. */
  stop(runId: string): boolean {
    return this.#socket().stop(runId);
  }

  #entry(runId: string): Entry {
    let entry = this.#entries.get(runId);
    if (!entry) {
      entry = { builder: new LiveRunBuilder(runId), users: 0, unfollow: null, used: 0 };
      this.#entries.set(runId, entry);
    }
    entry.used = ++this.#clock;
    return entry;
  }

  #follow(runId: string, entry: Entry): void {
    if (entry.unfollow || entry.builder.ended) return;
    const { cursor, metricsCursor } = entry.builder;
    entry.unfollow = this.#socket().follow(runId, this.#sink(entry), { cursor, metricsCursor });
  }

  #sink(entry: Entry): RunSink {
    const { builder } = entry;
    return {
      events: (events) => {
        builder.addEvents(events);
        this.#changed();
      },
      metrics: (points, metricsCursor) => {
        builder.addMetrics(points, metricsCursor);
        this.#changed();
      },
      ended: () => {
        entry.unfollow = null;
        builder.end();
        this.#changed();
      },
      refused: (error) => {
        entry.unfollow = null;
        builder.refuse({ code: error.code, message: error.message });
        this.#changed();
      },
    };
  }

  #settle(): void {
    for (const entry of this.#entries.values()) {
      if (entry.users > 0) continue;
      entry.unfollow?.();
      entry.unfollow = null;
    }
    const idle = [...this.#entries].filter(([, entry]) => entry.users === 0);
    idle.sort(([, a], [, b]) => b.used - a.used);
    for (const [runId] of idle.slice(KEPT_RUNS)) this.#entries.delete(runId);
    this.#changed();
  }

  #changed(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Show what came since the last frame. */
  flush(): void {
    const before = this.store.getState().runs;
    let changed = Object.keys(before).length !== this.#entries.size;
    const runs: Record<string, LiveRun> = {};
    for (const [runId, entry] of this.#entries) {
      if (entry.builder.flush()) changed = true;
      if (before[runId] !== entry.builder.current) changed = true;
      runs[runId] = entry.builder.current;
    }
    if (changed) this.store.setState({ runs });
  }
}

export const liveRuns = new LiveRuns(connection);

/** A part of a followed run, e.g. `useLive(runId, (run) => run?.nodes.train)`; re-renders only when that part changes. */
export function useLive<T>(runId: string | null, select: (run: LiveRun | undefined) => T): T {
  return useStore(liveRuns.store, (state) => select(runId === null ? undefined : state.runs[runId]));
}
