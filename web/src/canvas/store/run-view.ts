// The run that a graph shows, and what each node has to say about it.
import { useQuery } from "@tanstack/react-query";
import {
  createContext,
  createElement,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useState,
} from "react";
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import {
  ApiProblem,
  api,
  ENDED_STATUSES,
  type InnerNode,
  keys,
  type LiveRun,
  type NodeLive,
  useFollow,
  useLive,
} from "../../api";
import type { RunDetail } from "../../api/types";
import { isState, type StateName } from "../../ui/StateMark";
import { changedSince } from "../model/changed";
import { neededBy } from "../model/connect";
import { findNode, type GraphDocument, NotAGraph, readDocument } from "../model/document";
import { useEditor, useGraph } from "./editor";
import { documentOf } from "./graph-store";
import { rememberRun } from "./runs";

export interface RunView {
  runId: string;
  /** The run's row; `undefined` until it is here. */
  row: RunDetail | undefined;
  state: StateName;
  /** Whether it has not ended. */
  active: boolean;
  startedAt: number | null;
  endedAt: number | null;
  /** The document that ran. */
  ran: GraphDocument | null;
  /** Nodes that take part; `null` when all do. */
  part: ReadonlySet<string> | null;
  /** Nodes that the run no longer speaks for. */
  changed: ReadonlySet<string>;
}

type RunStore = StoreApi<{ run: RunView | null }>;

const RunContext = createContext<RunStore | null>(null);

/** Follows the graph's run for everything within. Used once, by the page. */
export function RunProvider({ children }: { children: ReactNode }): ReactNode {
  const run = useFollowedRun();
  // A store, not the run itself: of a thousand nodes only those render again that the change is about.
  const [store] = useState<RunStore>(() => createStore(() => ({ run })));
  useLayoutEffect(() => store.setState({ run }), [store, run]);
  return createElement(RunContext, { value: store }, children);
}

/** A part of the run in front; re-renders only when that part changes. */
export function useRun<T>(select: (run: RunView | null) => T): T {
  const store = useContext(RunContext);
  if (store === null) throw new Error("There is no run around this component.");
  return useStore(store, (state) => select(state.run));
}

/** The run in front, if the graph shows one. */
export function useRunView(): RunView | null {
  return useRun((run) => run);
}

export function useRunId(): string | null {
  return useRun((run) => run?.runId ?? null);
}

const NOTHING: ReadonlySet<string> = new Set();

function useFollowedRun(): RunView | null {
  const { store } = useEditor();
  const runId = useGraph((state) => state.runId);
  const doc = useGraph(documentOf);
  useFollow(runId);
  const { data: row, error } = useQuery({
    queryKey: keys.run(runId ?? ""),
    queryFn: ({ signal }) => api.run(runId ?? "", signal),
    enabled: runId !== null,
  });
  const live = useLive(runId, (run) => run?.status ?? "waiting");
  const startedAt = useLive(runId, (run) => run?.startedAt ?? null);
  const endedAt = useLive(runId, (run) => run?.endedAt ?? null);
  const gone = error instanceof ApiProblem && error.status === 404;
  useEffect(() => {
    if (!gone) return;
    rememberRun(store.getState().name, null);
    store.getState().set({ runId: null });
  }, [gone, store]);

  const graph = row?.graph;
  const ran = useMemo(() => {
    if (graph === undefined) return null;
    try {
      return readDocument(graph);
    } catch (problem) {
      if (problem instanceof NotAGraph) return null;
      throw problem;
    }
  }, [graph]);
  const until = row?.options.until_node ?? null;
  const part = useMemo(() => (ran === null || until === null ? null : neededBy(ran, until)), [ran, until]);
  const state = stateOf(live, row);
  const active = !ENDED_STATUSES.has(state);
  const changed = useMemo(
    () => (active || ran === null ? NOTHING : changedSince(ran, doc)),
    [active, ran, doc],
  );
  return useMemo(
    () =>
      runId === null || gone ? null : { runId, row, state, active, startedAt, endedAt, ran, part, changed },
    [runId, gone, row, state, active, startedAt, endedAt, ran, part, changed],
  );
}

/** The events are quicker than the row, which alone knows “disconnected” and “interrupted”. */
function stateOf(live: string, row: RunDetail | undefined): StateName {
  if (ENDED_STATUSES.has(live) && isState(live)) return live;
  const told = row?.status;
  if (told !== undefined && isState(told) && (told !== "queued" || live === "waiting")) return told;
  return live === "running" ? "running" : "queued";
}

export type NodeState = StateName | "resting" | "stale";

export interface NodeView {
  state: NodeState;
  live: NodeLive | undefined;
}

/** State of a node, named by its path. A group has none of its own: it is told from the nodes that take its place. */
export function useNodeView(path: string, group = false): NodeView {
  const runId = useRunId();
  const top = path.split("/", 1)[0] ?? path;
  const live = useLive(runId, (all) => (group ? undefined : all?.nodes[path]));
  const within = useLive(runId, (all) => (group ? groupState(all, `${path}/`) : null));
  const state = useRun((run): NodeState => {
    if (within !== null) return run?.changed.has(top) === true ? "stale" : within;
    // Inside a module there are no nodes that run by themselves.
    return live === undefined && path.includes("/") ? "resting" : nodeState(run, top, live);
  });
  return { state, live };
}

/** One state for all nodes whose path begins so; `null` when the run knows none of them. */
function groupState(live: LiveRun | undefined, prefix: string): NodeState | null {
  const states = new Set<string>();
  for (const [path, node] of Object.entries(live?.nodes ?? {})) {
    if (path.startsWith(prefix)) states.add(node.status);
  }
  if (states.size === 0) return null;
  for (const state of ["failed", "cancelled", "interrupted", "running"] as const) {
    if (states.has(state)) return state;
  }
  const ended = states.has("succeeded") || states.has("reused");
  if (states.has("queued")) return ended ? "running" : "queued";
  if (states.has("succeeded")) return "succeeded";
  return states.has("reused") ? "reused" : "skipped";
}

export function nodeState(run: RunView | null, nodeId: string, live: NodeLive | undefined): NodeState {
  if (run === null) return "resting";
  if (run.changed.has(nodeId)) return live === undefined ? "resting" : "stale";
  if (live !== undefined) return live.status;
  if (!run.active || run.part?.has(nodeId) === false) return "resting";
  return run.ran === null || findNode(run.ran, nodeId) !== undefined ? "queued" : "resting";
}

/** Layers of a module as the run built them, by their path: whichever node built it tells. */
export function innerOf(
  live: LiveRun | undefined,
  subgraph: string | null,
): Readonly<Record<string, InnerNode>> {
  if (live === undefined || subgraph === null) return NO_INNER;
  const prefix = `${subgraph}/`;
  for (const node of Object.values(live.nodes)) {
    for (const path in node.inner) if (path.startsWith(prefix)) return node.inner;
  }
  return NO_INNER;
}

const NO_INNER: Readonly<Record<string, InnerNode>> = {};

/** Trained values in a module; 0 as long as nothing built it. */
export function parametersOf(live: LiveRun | undefined, subgraph: string | null): number {
  const prefix = `${subgraph}/`;
  let sum = 0;
  for (const [path, layer] of Object.entries(innerOf(live, subgraph))) {
    if (path.startsWith(prefix)) sum += layer.parameters ?? 0;
  }
  return sum;
}

export function useInner(subgraph: string | null): Readonly<Record<string, InnerNode>> {
  return useLive(useRunId(), (live) => innerOf(live, subgraph));
}
