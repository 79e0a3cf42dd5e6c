// A run's time to scale: waiting, starting, its nodes, times without a connection. Pure.
import type { LiveRun, RunSummary } from "../api";

export type SegmentKind = "queued" | "start" | "node" | "rest" | "offline";

export interface Segment {
  kind: SegmentKind;
  /** Unix seconds. */
  from: number;
  to: number;
  nodeId?: string;
}

const OFFLINE = new Set(["worker_disconnected", "worker_adopted"]);
const ONLINE = "worker_reconnected";

/** Pieces without overlap, in order. Of nodes that run side by side, the one that runs longer keeps the time. */
export function timelineOf(run: RunSummary, live: LiveRun | undefined, now: number): Segment[] {
  const end = run.ended_at ?? now;
  if (run.started_at == null) return [{ kind: "queued", from: run.created_at, to: end }];
  const segments: Segment[] = [];
  if (run.started_at > run.created_at) {
    segments.push({ kind: "queued", from: run.created_at, to: run.started_at });
  }
  const nodes = nodeTimes(live, end).filter((node) => node.to > node.from);
  let at = run.started_at;
  // The longest first: they claim their time, shorter ones keep what is left of theirs.
  const claimed: Segment[] = [];
  for (const node of nodes.sort((a, b) => b.to - b.from - (a.to - a.from))) {
    for (const [from, to] of free(node.from, node.to, claimed)) {
      claimed.push({ kind: "node", from, to, nodeId: node.nodeId as string });
    }
  }
  for (const piece of claimed.sort((a, b) => a.from - b.from)) {
    // Before the first node the engine is loaded; later gaps are what lies between nodes.
    const kind = at === run.started_at ? "start" : "rest";
    if (piece.from > at) segments.push({ kind, from: at, to: piece.from });
    segments.push(piece);
    at = Math.max(at, piece.to);
  }
  if (end > at) segments.push({ kind: at === run.started_at ? "start" : "rest", from: at, to: end });
  return withOffline(segments, offlineTimes(live, end));
}

function nodeTimes(live: LiveRun | undefined, end: number): Segment[] {
  if (!live) return [];
  return Object.values(live.nodes).flatMap((node): Segment[] => {
    if (node.startedAt === null) return [];
    // A node without a duration is running, or its process ended before it could tell.
    const length = node.durationS ?? end - node.startedAt;
    return [
      { kind: "node", from: node.startedAt, to: Math.min(end, node.startedAt + length), nodeId: node.nodeId },
    ];
  });
}

/** Parts of `from` … `to` that no segment has claimed. */
function free(from: number, to: number, claimed: readonly Segment[]): [number, number][] {
  let parts: [number, number][] = [[from, to]];
  for (const taken of claimed) {
    parts = parts.flatMap(([a, b]): [number, number][] => {
      if (taken.to <= a || taken.from >= b) return [[a, b]];
      const left: [number, number][] = taken.from > a ? [[a, taken.from]] : [];
      return taken.to < b ? [...left, [taken.to, b]] : left;
    });
  }
  return parts;
}

function offlineTimes(live: LiveRun | undefined, end: number): [number, number][] {
  const times: [number, number][] = [];
  let since: number | null = null;
  for (const event of live?.events ?? []) {
    if (event.type !== "run_warning") continue;
    const code = (event.payload as { code?: string }).code ?? "";
    if (OFFLINE.has(code)) since ??= event.ts;
    else if (code === ONLINE && since !== null) {
      times.push([since, event.ts]);
      since = null;
    }
  }
  if (since !== null) times.push([since, end]);
  return times;
}

function withOffline(segments: readonly Segment[], offline: readonly [number, number][]): Segment[] {
  if (offline.length === 0) return [...segments];
  const gaps = offline.map(([from, to]): Segment => ({ kind: "offline", from, to }));
  const kept = segments.flatMap((segment) =>
    free(segment.from, segment.to, gaps).map(([from, to]): Segment => ({ ...segment, from, to })),
  );
  return [...kept, ...gaps].sort((a, b) => a.from - b.from);
}
