import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiProblem, api, connection, keys, type RunList, type RunSummary } from "../api";
import { merged, type RunRows, unaccounted, vanished } from "./run-list";

const PAGE = 50;
/** Refreshes are at least this far apart, however often runs change. */
const REFRESH_MS = 400;
const MOST_SINGLE_FETCHES = 20;

export interface RunListState extends RunRows {
  total: number;
  counts: Readonly<Record<string, number>>;
  /** Whether the counts have ever arrived. */
  counted: boolean;
  loading: boolean;
  loadingMore: boolean;
  error: ApiProblem | null;
  loadMore: () => void;
  reload: () => void;
}

interface Loaded extends RunRows {
  status: string | null;
  total: number;
  counts: Readonly<Record<string, number>>;
  /** Whether anything has arrived yet. */
  ready: boolean;
}

const nothing = (status: string | null): Loaded => ({
  status,
  rows: [],
  nextCursor: null,
  total: 0,
  counts: {},
  ready: false,
});

/** What a look at the server found: rows that changed, and rows that are gone. */
interface Patch {
  fresh: RunSummary[];
  gone: ReadonlySet<string>;
  newest: RunList;
}

/** The newest page, and the state of loaded rows that it does not reach; never all pages again. */
async function look(old: Loaded, signal: AbortSignal): Promise<Patch> {
  const newest = await api.runs({ limit: PAGE, status: old.status }, signal);
  const gone = new Set(vanished(old.rows, newest.runs, newest.next_cursor === null));
  const left = old.rows.filter((row) => !gone.has(row.run_id));
  const missing = unaccounted(left, newest.runs).slice(0, MOST_SINGLE_FETCHES);
  const found = await Promise.all(
    missing.map((runId) =>
      api.run(runId, signal).catch((error: unknown) => {
        if (error instanceof ApiProblem && error.status === 404) return null;
        throw error;
      }),
    ),
  );
  missing.forEach((runId, i) => {
    if (found[i] === null) gone.add(runId);
  });
  return { fresh: [...found.filter((run) => run !== null), ...newest.runs], gone, newest };
}

function applied(old: Loaded, { fresh, gone, newest }: Patch): Loaded {
  const { status } = old;
  const rows = merged(
    old.rows.filter((row) => !gone.has(row.run_id)),
    fresh,
  ).filter((row) => status === null || row.status === status);
  return {
    status,
    rows,
    // More pages may be loaded already: the cursor stays where they end.
    nextCursor: rows.length > newest.runs.length ? old.nextCursor : newest.next_cursor,
    total: newest.total,
    counts: newest.counts,
    ready: true,
  };
}

/** The runs of one status (`null`: all), newest first, page by page, live. */
export function useRunList(status: string | null): RunListState {
  const [loaded, setLoaded] = useState<Loaded>(() => nothing(status));
  const [loadingMore, setLoadingMore] = useState(false);
  const [error, setError] = useState<ApiProblem | null>(null);
  const [round, setRound] = useState(0);
  const busyMore = useRef(false);
  const client = useQueryClient();
  const current = useRef(loaded);
  current.current = loaded.status === status ? loaded : { ...nothing(status), counts: loaded.counts };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks for the effect to run again
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let busy = false;
    let again = false;
    const refresh = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      again = false;
      try {
        const patch = await look(current.current, stop.signal);
        if (stop.signal.aborted) return;
        setLoaded((old) => applied(old.status === status ? old : nothing(status), patch));
        setError(null);
      } catch (problem) {
        if (stop.signal.aborted) return;
        setError(problem instanceof ApiProblem ? problem : null);
      } finally {
        timer = window.setTimeout(() => {
          busy = false;
          if (again) void refresh();
        }, REFRESH_MS);
      }
    };
    void refresh();
    const unwatch = connection().watchRuns(() => void refresh());
    return () => {
      stop.abort();
      window.clearTimeout(timer);
      unwatch();
    };
  }, [status, round]);

  const loadMore = useCallback(() => {
    const from = current.current;
    if (from.nextCursor === null || busyMore.current) return;
    busyMore.current = true;
    setLoadingMore(true);
    api
      .runs({ limit: PAGE * 2, cursor: from.nextCursor, status })
      .then((page) => {
        setLoaded((old) =>
          old.status === status && old.nextCursor === from.nextCursor
            ? { ...old, rows: merged(page.runs, old.rows), nextCursor: page.next_cursor, total: page.total }
            : old,
        );
        setError(null);
      })
      .catch((problem: unknown) => setError(problem instanceof ApiProblem ? problem : null))
      .finally(() => {
        busyMore.current = false;
        setLoadingMore(false);
      });
  }, [status]);

  const reload = useCallback(() => {
    void client.invalidateQueries({ queryKey: keys.runs });
    setRound((n) => n + 1);
  }, [client]);

  const shown = current.current;
  return {
    rows: shown.rows,
    nextCursor: shown.nextCursor,
    total: shown.total,
    counts: shown.counts,
    counted: loaded.ready,
    loading: !shown.ready && error === null,
    loadingMore,
    error,
    loadMore,
    reload,
  };
}
