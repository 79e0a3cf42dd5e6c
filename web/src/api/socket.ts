// One WebSocket to /ws/execution for the whole page. It knows nothing of React: cursors in, batches out.
//
// Every run that is followed keeps two cursors (events, metric points). A lost connection is opened again with
// back-off, and each run is attached from the cursors it has, so that a consumer sees every event exactly once.
import type { GraphProblem, ParamValue, RunOptions, StoredEvent, StoredMetric } from "./types";

/** What the connection needs of a WebSocket; tests give their own. */
export interface SocketLike {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
}

export interface Timers {
  set(callback: () => void, ms: number): number;
  clear(id: number): void;
}

/** Receives what happens in one run, in order, without a gap or a repeat. */
export interface RunSink {
  events(events: StoredEvent[]): void;
  metrics(points: StoredMetric[], metricsCursor: number): void;
  ended(): void;
  /** The server cannot follow this run (it does not exist, say). Nothing more comes. */
  refused(error: SocketRefusal): void;
}

export interface RunCursors {
  cursor: number;
  metricsCursor: number;
}

/** A message that the server answered with an error, or that was lost with the connection. */
export class SocketRefusal extends Error {
  readonly code: string;
  readonly params: Record<string, ParamValue>;
  readonly problems: GraphProblem[];

  constructor(code: string, message: string, params?: Record<string, ParamValue>, problems?: GraphProblem[]) {
    super(message);
    this.name = "SocketRefusal";
    this.code = code;
    this.params = params ?? {};
    this.problems = problems ?? [];
  }
}

export type ConnectionState = "idle" | "connecting" | "open" | "waiting";

export interface Accepted {
  run_id: string;
  number: number;
}

/** Gives the sink of a run just accepted; calling `unfollow` ends it. */
export type SinkFor = (runId: string, unfollow: () => void) => RunSink;

interface Followed extends RunCursors {
  sink: RunSink;
  attachId: string;
}

interface PendingRun {
  message: Record<string, unknown>;
  sinkFor: SinkFor;
  resolve: (accepted: Accepted) => void;
  reject: (error: SocketRefusal) => void;
  sent: boolean;
}

interface ServerMessage {
  type: string;
  id?: string;
  run_id?: string;
  number?: number;
  events?: StoredEvent[];
  points?: StoredMetric[];
  metrics_cursor?: number;
  code?: string;
  message?: string;
  params?: Record<string, ParamValue>;
  problems?: GraphProblem[];
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
const FIRST_PING_MS = 2_000;
const PING_EVERY_MS = 20_000;
const PONG_WITHIN_MS = 15_000;

export interface SocketOptions {
  open: () => SocketLike;
  timers?: Timers;
  /** Called for everything that the server says. */
  heard?: () => void;
  random?: () => number;
}

const browserTimers: Timers = {
  set: (callback, ms) => globalThis.setTimeout(callback, ms) as unknown as number,
  clear: (id) => globalThis.clearTimeout(id),
};

export class ExecutionSocket {
  readonly #open: () => SocketLike;
  readonly #timers: Timers;
  readonly #random: () => number;
  readonly #heard: () => void;
  readonly #followed = new Map<string, Followed>();
  readonly #pendingRuns = new Map<string, PendingRun>();
  readonly #runsListeners = new Set<() => void>();
  readonly #stateListeners = new Set<() => void>();
  /** Runs detached on this connection whose last batches may still be on their way, with who waits for the end. */
  readonly #draining = new Map<string, (() => void) | null>();
  /** What each pong that is still to come stands for, oldest first. */
  #pongs: (() => void)[] = [];
  #socket: SocketLike | null = null;
  #state: ConnectionState = "idle";
  #failures = 0;
  #retry: number | null = null;
  #ping: number | null = null;
  #pongTimeout: number | null = null;
  #nextId = 1;
  #everOpened = false;

  constructor(options: SocketOptions) {
    this.#open = options.open;
    this.#timers = options.timers ?? browserTimers;
    this.#random = options.random ?? Math.random;
    this.#heard = options.heard ?? (() => {});
  }

  get state(): ConnectionState {
    return this.#state;
  }

  onState(listener: () => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  /** Follow a run from the given cursors. The answer ends it. One sink per run: following twice is an error. */
  follow(runId: string, sink: RunSink, from: RunCursors): () => void {
    if (this.#followed.has(runId)) throw new Error(`run ${runId} is followed already`);
    const unfollow = this.#remember(runId, () => sink, from);
    if (this.#draining.has(runId)) this.#draining.set(runId, () => this.#attach(runId));
    else this.#attach(runId);
    this.#ensure();
    return unfollow;
  }

  #remember(runId: string, sinkFor: SinkFor, from: RunCursors): () => void {
    const unfollow = () => {
      if (this.#followed.get(runId) === followed) this.#unfollow(runId);
    };
    const followed: Followed = {
      sink: sinkFor(runId, unfollow),
      attachId: "",
      cursor: from.cursor,
      metricsCursor: from.metricsCursor,
    };
    this.#followed.set(runId, followed);
    return unfollow;
  }

  /** Call `listener` whenever some run changed, and once after each reconnection (something may have been missed). */
  watchRuns(listener: () => void): () => void {
    this.#runsListeners.add(listener);
    if (this.#runsListeners.size === 1 && this.#state === "open") this.#send({ type: "watch_runs" });
    this.#ensure();
    return () => this.#runsListeners.delete(listener);
  }

  /**
   * Run a graph in the interactive lane. `secrets` are the values that it refers to, by name. `sinkFor` is asked for the run's sink before the run's first event arrives.
   * Rejects with a SocketRefusal; `connection_lost` means that nobody knows whether the run was accepted.
   */
  run(
    graph: unknown,
    options: RunOptions,
    name: string,
    sinkFor: SinkFor,
    secrets: Readonly<Record<string, string>> = {},
  ): Promise<Accepted> {
    return new Promise((resolve, reject) => {
      const id = `q${this.#nextId++}`;
      const message: Record<string, unknown> = { type: "run", id, graph, options, name };
      if (Object.keys(secrets).length > 0) message.secrets = secrets;
      const pending: PendingRun = { message, sinkFor, resolve, reject, sent: false };
      this.#pendingRuns.set(id, pending);
      if (this.#state === "open") this.#sendRun(pending);
      this.#ensure();
    });
  }

  stop(runId: string): boolean {
    if (this.#state !== "open") return false;
    this.#send({ type: "stop", run_id: runId });
    return true;
  }

  /** Try at once instead of waiting for the back-off: the machine came back online, or the page became visible. */
  wake(): void {
    if (this.#state === "waiting") {
      this.#clearRetry();
      this.#connect();
    }
  }

  /** Close for good. */
  close(): void {
    this.#followed.clear();
    this.#runsListeners.clear();
    this.#clearRetry();
    this.#drop();
    this.#setState("idle");
  }

  #ensure(): void {
    if (this.#state === "idle") this.#connect();
  }

  #setState(state: ConnectionState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of [...this.#stateListeners]) listener();
  }

  #connect(): void {
    this.#setState("connecting");
    let socket: SocketLike;
    try {
      socket = this.#open();
    } catch {
      this.#lost();
      return;
    }
    this.#socket = socket;
    socket.onopen = () => {
      if (this.#socket === socket) this.#opened();
    };
    socket.onmessage = (event) => {
      if (this.#socket === socket) this.#received(event.data);
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#lost();
    };
  }

  #opened(): void {
    this.#heard();
    this.#setState("open");
    for (const runId of this.#followed.keys()) this.#attach(runId);
    if (this.#runsListeners.size > 0) this.#send({ type: "watch_runs" });
    for (const pending of this.#pendingRuns.values()) this.#sendRun(pending);
    if (this.#everOpened) this.#tellRunsChanged();
    this.#everOpened = true;
    this.#schedulePing(FIRST_PING_MS);
  }

  /** Forget the connection without a word from it. */
  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#pongs = [];
    this.#draining.clear();
    if (this.#ping !== null) this.#timers.clear(this.#ping);
    if (this.#pongTimeout !== null) this.#timers.clear(this.#pongTimeout);
    this.#ping = null;
    this.#pongTimeout = null;
    if (socket) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
  }

  #lost(): void {
    this.#drop();
    for (const [id, pending] of [...this.#pendingRuns]) {
      if (!pending.sent) continue;
      this.#pendingRuns.delete(id);
      pending.reject(
        new SocketRefusal(
          "connection_lost",
          "The connection was lost before the server answered. Look under Runs whether the run was accepted.",
        ),
      );
    }
    // Half of the wait is fixed, half is random: many pages do not come back at the same moment.
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#setState("waiting");
    this.#retry = this.#timers.set(
      () => {
        this.#retry = null;
        this.#connect();
      },
      longest * (0.5 + this.#random() / 2),
    );
  }

  #clearRetry(): void {
    if (this.#retry !== null) this.#timers.clear(this.#retry);
    this.#retry = null;
  }

  #schedulePing(ms: number): void {
    this.#ping = this.#timers.set(() => {
      this.#ping = null;
      this.#fence(() => {
        // Only a connection that lasted counts: one that opens and breaks at once keeps backing off.
        this.#failures = 0;
        this.#schedulePing(PING_EVERY_MS);
      });
      this.#pongTimeout ??= this.#timers.set(() => {
        this.#pongTimeout = null;
        this.#lost();
      }, PONG_WITHIN_MS);
    }, ms);
  }

  /** Call back when the server has handled everything that was sent before. */
  #fence(callback: () => void): void {
    this.#pongs.push(callback);
    this.#send({ type: "ping" });
  }

  #send(message: Record<string, unknown>): void {
    this.#socket?.send(JSON.stringify(message));
  }

  #sendRun(pending: PendingRun): void {
    if (pending.sent) return;
    pending.sent = true;
    this.#send(pending.message);
  }

  #attach(runId: string): void {
    const followed = this.#followed.get(runId);
    if (!followed || this.#state !== "open") return;
    followed.attachId = `a${this.#nextId++}`;
    this.#send({
      type: "attach",
      id: followed.attachId,
      run_id: runId,
      cursor: followed.cursor,
      metrics_cursor: followed.metricsCursor,
    });
  }

  #unfollow(runId: string): void {
    this.#followed.delete(runId);
    if (this.#state !== "open") return;
    if (this.#draining.has(runId)) {
      this.#draining.set(runId, null);
      return;
    }
    // What the server sent before it read the detach must not be taken for the answer to a later attach.
    this.#draining.set(runId, null);
    this.#send({ type: "detach", run_id: runId });
    this.#fence(() => {
      const next = this.#draining.get(runId);
      this.#draining.delete(runId);
      next?.();
    });
  }

  #received(data: unknown): void {
    this.#heard();
    if (this.#pongTimeout !== null) {
      // Anything that arrives shows that the connection lives.
      this.#timers.clear(this.#pongTimeout);
      this.#pongTimeout = null;
    }
    let message: ServerMessage;
    try {
      message = JSON.parse(String(data)) as ServerMessage;
    } catch {
      return;
    }
    const runId = message.run_id ?? "";
    switch (message.type) {
      case "events":
        this.#onEvents(runId, message.events ?? []);
        break;
      case "metrics":
        this.#onMetrics(runId, message.points ?? [], message.metrics_cursor ?? 0);
        break;
      case "ended":
        if (!this.#draining.has(runId)) this.#finish(runId)?.ended();
        break;
      case "accepted":
        this.#onAccepted(message);
        break;
      case "runs_changed":
        this.#tellRunsChanged();
        break;
      case "error":
        this.#onError(message);
        break;
      case "pong":
        this.#pongs.shift()?.();
        break;
    }
  }

  #onEvents(runId: string, events: StoredEvent[]): void {
    const followed = this.#followed.get(runId);
    if (!followed || this.#draining.has(runId)) return;
    const fresh = events.filter((event) => event.cursor > followed.cursor);
    if (fresh.length === 0) return;
    let expected = followed.cursor;
    for (const event of fresh) {
      expected += 1;
      if (event.cursor !== expected) {
        // A gap would stay for ever: ask again from the last event that is certain.
        this.#lost();
        return;
      }
    }
    followed.cursor = expected;
    followed.sink.events(fresh);
  }

  #onMetrics(runId: string, points: StoredMetric[], metricsCursor: number): void {
    const followed = this.#followed.get(runId);
    if (!followed || this.#draining.has(runId)) return;
    // Cursors of metric points count 1, 2, 3 … within the run, as those of events do.
    const known = followed.metricsCursor - (metricsCursor - points.length);
    if (known < 0) {
      this.#lost();
      return;
    }
    if (known >= points.length) return;
    followed.metricsCursor = metricsCursor;
    followed.sink.metrics(known === 0 ? points : points.slice(known), metricsCursor);
  }

  #finish(runId: string): RunSink | null {
    const followed = this.#followed.get(runId);
    this.#followed.delete(runId);
    return followed?.sink ?? null;
  }

  #onAccepted(message: ServerMessage): void {
    const pending = this.#pendingRuns.get(message.id ?? "");
    if (!pending || message.run_id === undefined) return;
    this.#pendingRuns.delete(message.id ?? "");
    const accepted = { run_id: message.run_id, number: message.number ?? 0 };
    // The server attached this connection from the beginning; only the bookkeeping is left to do.
    if (!this.#followed.has(accepted.run_id)) {
      this.#remember(accepted.run_id, pending.sinkFor, { cursor: 0, metricsCursor: 0 });
    }
    pending.resolve(accepted);
  }

  #onError(message: ServerMessage): void {
    const refusal = new SocketRefusal(
      message.code ?? "internal_error",
      message.message ?? "",
      message.params,
      message.problems,
    );
    const pending = this.#pendingRuns.get(message.id ?? "");
    if (pending) {
      this.#pendingRuns.delete(message.id ?? "");
      pending.reject(refusal);
      return;
    }
    for (const [runId, followed] of this.#followed) {
      if (message.id !== undefined && followed.attachId === message.id) {
        this.#followed.delete(runId);
        followed.sink.refused(refusal);
        return;
      }
    }
  }

  #tellRunsChanged(): void {
    for (const listener of [...this.#runsListeners]) listener();
  }
}
