// What a page knows of one run, built from its events and metric points. Pure: no socket, no React, no clock.
import {
  type ExecutionStart,
  type InnerNodePayload,
  type NodeProgress,
  type NodeStatus,
  type NodeStatusPayload,
  type OutputSummary,
  type RunWarning,
  TERMINAL_EVENTS,
} from "./events";
import { type Series, SeriesTable } from "./series";
import type { RunError, StoredEvent, StoredMetric } from "./types";

export interface InnerNode extends InnerNodePayload {
  /** The path joined with slashes. */
  key: string;
}

export interface NodeLive {
  nodeId: string;
  status: NodeStatus;
  /** Unix seconds of its first `running`. */
  startedAt: number | null;
  durationS: number | null;
  error: RunError | null;
  outputs: Record<string, OutputSummary>;
  progress: NodeProgress | null;
  /** Layers of a module, by their path joined with slashes. */
  inner: Record<string, InnerNode>;
  warnings: readonly RunWarning[];
}

export type LiveStatus = "waiting" | "running" | "succeeded" | "failed" | "cancelled";

/** An immutable picture of a run; each part is the same object as before unless it changed. */
export interface LiveRun {
  runId: string;
  /** Grows with every change. */
  version: number;
  /** As far as its events tell; the run's row also knows "disconnected" and "interrupted". */
  status: LiveStatus;
  start: ExecutionStart | null;
  startedAt: number | null;
  endedAt: number | null;
  durationS: number | null;
  error: RunError | null;
  warnings: readonly RunWarning[];
  /** All events so far, complete and in order: the n-th has cursor n. */
  events: readonly StoredEvent[];
  nodes: Readonly<Record<string, NodeLive>>;
  /** The latest progress of any node. */
  progress: NodeProgress | null;
  series: readonly Series[];
  /** Whether everything of an ended run is here. */
  complete: boolean;
  /** Why the run cannot be followed. */
  refusal: { code: string; message: string } | null;
}

export function emptyRun(runId: string): LiveRun {
  return {
    runId,
    version: 0,
    status: "waiting",
    start: null,
    startedAt: null,
    endedAt: null,
    durationS: null,
    error: null,
    warnings: [],
    events: [],
    nodes: {},
    progress: null,
    series: [],
    complete: false,
    refusal: null,
  };
}

function newNode(nodeId: string): NodeLive {
  return {
    nodeId,
    status: "running",
    startedAt: null,
    durationS: null,
    error: null,
    outputs: {},
    progress: null,
    inner: {},
    warnings: [],
  };
}

const ENDINGS: Record<string, LiveStatus> = {
  execution_complete: "succeeded",
  execution_error: "failed",
  execution_stopped: "cancelled",
};

/** Collects batches and makes one new `LiveRun` of them when asked. */
export class LiveRunBuilder {
  #run: LiveRun;
  readonly #series = new SeriesTable();
  #events: StoredEvent[] = [];
  #pending: StoredEvent[] = [];
  #complete = false;
  #refusal: { code: string; message: string } | null = null;
  #dirty = false;
  /** Where to go on from. */
  cursor = 0;
  metricsCursor = 0;

  constructor(runId: string) {
    this.#run = emptyRun(runId);
  }

  get ended(): boolean {
    return this.#complete;
  }

  addEvents(events: readonly StoredEvent[]): void {
    for (const event of events) this.#pending.push(event);
    const last = events.at(-1);
    if (last) this.cursor = last.cursor;
    this.#dirty = true;
  }

  addMetrics(points: readonly StoredMetric[], metricsCursor: number): void {
    this.#series.push(points);
    this.metricsCursor = metricsCursor;
    this.#dirty = true;
  }

  end(): void {
    this.#complete = true;
    this.#dirty = true;
  }

  refuse(refusal: { code: string; message: string }): void {
    this.#refusal = refusal;
    this.#dirty = true;
  }

  get current(): LiveRun {
    return this.#run;
  }

  /** Bring `current` up to date; tells whether it is another object now. */
  flush(): boolean {
    if (!this.#dirty) return false;
    this.#dirty = false;
    const draft: LiveRun = { ...this.#run, version: this.#run.version + 1 };
    if (this.#pending.length > 0) {
      const nodes = new NodesDraft(draft.nodes);
      for (const event of this.#pending) apply(draft, nodes, event);
      draft.nodes = nodes.done();
      this.#events = this.#events.concat(this.#pending);
      this.#pending = [];
      draft.events = this.#events;
    }
    draft.series = this.#series.views();
    draft.complete = this.#complete;
    draft.refusal = this.#refusal;
    this.#run = draft;
    return true;
  }
}

/** Copies the table of nodes, and each node, at most once per flush. */
class NodesDraft {
  readonly #before: Readonly<Record<string, NodeLive>>;
  readonly #changed: Record<string, NodeLive> = {};
  #any = false;

  constructor(before: Readonly<Record<string, NodeLive>>) {
    this.#before = before;
  }

  node(nodeId: string): NodeLive {
    const changed = this.#changed[nodeId];
    if (changed) return changed;
    const before = this.#before[nodeId];
    const next = before ? { ...before } : newNode(nodeId);
    this.#changed[nodeId] = next;
    this.#any = true;
    return next;
  }

  names(): string[] {
    return [...new Set([...Object.keys(this.#before), ...Object.keys(this.#changed)])];
  }

  status(nodeId: string): NodeStatus | undefined {
    return (this.#changed[nodeId] ?? this.#before[nodeId])?.status;
  }

  done(): Readonly<Record<string, NodeLive>> {
    return this.#any ? { ...this.#before, ...this.#changed } : this.#before;
  }
}

function apply(run: LiveRun, nodes: NodesDraft, event: StoredEvent): void {
  switch (event.type) {
    case "execution_start":
      run.status = "running";
      run.start = event.payload as ExecutionStart;
      run.startedAt ??= event.ts;
      break;
    case "node_status":
      applyStatus(nodes, event);
      break;
    case "node_progress": {
      const progress = event.payload as NodeProgress;
      nodes.node(progress.node_id).progress = progress;
      run.progress = progress;
      break;
    }
    case "inner_node_status": {
      const payload = event.payload as InnerNodePayload;
      const node = nodes.node(payload.node_id);
      const key = payload.path.join("/");
      node.inner = { ...node.inner, [key]: { ...node.inner[key], ...payload, key } };
      break;
    }
    case "run_warning": {
      const warning = event.payload as RunWarning;
      run.warnings = [...run.warnings, warning];
      if (warning.node_id) {
        const node = nodes.node(warning.node_id);
        node.warnings = [...node.warnings, warning];
      }
      break;
    }
    default:
      if (TERMINAL_EVENTS.has(event.type)) applyEnd(run, nodes, event);
  }
}

function applyStatus(nodes: NodesDraft, event: StoredEvent): void {
  const payload = event.payload as NodeStatusPayload;
  const node = nodes.node(payload.node_id);
  node.status = payload.status;
  if (payload.status === "running") node.startedAt = event.ts;
  if (payload.duration_s !== undefined && payload.duration_s !== null) node.durationS = payload.duration_s;
  if (payload.error) node.error = payload.error;
  if (payload.outputs) node.outputs = payload.outputs;
}

function applyEnd(run: LiveRun, nodes: NodesDraft, event: StoredEvent): void {
  const payload = event.payload as { duration_s?: number | null; error?: RunError | null };
  run.status = ENDINGS[event.type] ?? "failed";
  run.endedAt = event.ts;
  run.durationS = payload.duration_s ?? (run.startedAt === null ? null : event.ts - run.startedAt);
  run.error = payload.error ?? null;
  // A process that was killed leaves its nodes without a last word.
  for (const nodeId of nodes.names()) {
    if (nodes.status(nodeId) !== "running") continue;
    nodes.node(nodeId).status = run.error?.node_id === nodeId ? "failed" : "cancelled";
  }
}
