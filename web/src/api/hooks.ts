// React's door to the API: what a component reads with one line.
import {
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { ApiProblem, api, logUrl, send } from "./client";
import { connection } from "./connection";
import { liveRuns, useLive } from "./live";
import type { LiveRun } from "./live-run";
import { EMPTY_LOG, LogBuffer, type LogView } from "./log";
import { useAwaySince } from "./presence";
import type { ConnectionState } from "./socket";

export const keys = {
  nodes: ["nodes"] as const,
  examples: ["examples"] as const,
  example: (name: string) => ["examples", name] as const,
  presets: ["presets"] as const,
  files: (folder: string) => ["files", folder] as const,
  graphs: ["graphs"] as const,
  graph: (name: string) => ["graphs", name] as const,
  runs: ["runs"] as const,
  runList: (status: string | null, limit: number) => ["runs", "list", status, limit] as const,
  run: (runId: string) => ["runs", "one", runId] as const,
  artifacts: (runId: string) => ["runs", "artifacts", runId] as const,
  sparkline: (runId: string) => ["runs", "sparkline", runId] as const,
  workers: ["workers"] as const,
  health: ["health"] as const,
  server: ["server"] as const,
};

/** One per page. Answers of 4xx are not asked for again: nothing would change. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) =>
          failures < 3 && !(error instanceof ApiProblem && error.status >= 400 && error.status < 500),
        retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 5_000),
        // A server on this machine answers while the machine has no network.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
}

/** The state of the page's connection to the server. */
export function useConnectionState(): ConnectionState {
  return useSyncExternalStore(
    (listener) => connection().onState(listener),
    () => connection().state,
  );
}

/** Whether nothing can be sent right now: the server does not answer, or the socket waits for its next try. */
export function useDisconnected(): boolean {
  const away = useAwaySince() !== null;
  return useConnectionState() === "waiting" || away;
}

/** Refresh runs and workers whenever some run changed. Mount it once, in the shell. */
export function useRunsChanged(): void {
  const client = useQueryClient();
  useEffect(
    () =>
      connection().watchRuns(() => {
        // A refresh that is under way is not cancelled: with many changes a second nothing would ever arrive.
        const options = { cancelRefetch: false };
        void client.invalidateQueries({ queryKey: ["runs", "list"] }, options);
        void client.invalidateQueries({ queryKey: ["runs", "one"] }, options);
        void client.invalidateQueries({ queryKey: ["runs", "artifacts"] }, options);
        void client.invalidateQueries({ queryKey: keys.workers }, options);
      }),
    [client],
  );
}

export function useNodes() {
  return useQuery({
    queryKey: keys.nodes,
    queryFn: ({ signal }) => api.nodes(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useExamples() {
  return useQuery({
    queryKey: keys.examples,
    queryFn: ({ signal }) => api.examples(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useExample(name: string | null) {
  return useQuery({
    queryKey: keys.example(name ?? ""),
    queryFn: ({ signal }) => api.example(name ?? "", signal),
    enabled: name !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useGraphs() {
  return useQuery({ queryKey: keys.graphs, queryFn: ({ signal }) => api.graphs(signal) });
}

export function usePresets() {
  return useQuery({ queryKey: keys.presets, queryFn: ({ signal }) => api.presets(signal) });
}

export function useHealth() {
  return useQuery({
    queryKey: keys.health,
    queryFn: ({ signal }) => api.health(signal),
    staleTime: 60_000,
  });
}

/** Where the server keeps its data. */
export function useServerInfo() {
  return useQuery({
    queryKey: keys.server,
    queryFn: ({ signal }) => api.server(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Runs, newest first, page by page (`fetchNextPage`). `status` may list several, separated by commas. */
export function useRuns(status: string | null = null, limit = 50) {
  return useInfiniteQuery({
    queryKey: keys.runList(status, limit),
    queryFn: ({ pageParam, signal }) => api.runs({ limit, cursor: pageParam, status }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
}

/** One run. While `there` is false, nothing is asked: it is being deleted. */
export function useRun(runId: string, there = true) {
  return useQuery({
    queryKey: keys.run(runId),
    queryFn: ({ signal }) => api.run(runId, signal),
    enabled: there,
  });
}

export function useArtifacts(runId: string, there = true) {
  return useQuery({
    queryKey: keys.artifacts(runId),
    queryFn: ({ signal }) => api.artifacts(runId, signal),
    enabled: there,
  });
}

export function useWorkers() {
  return useQuery({
    queryKey: keys.workers,
    queryFn: ({ signal }) => api.workers(signal),
    // Heartbeats change memory and load without changing any run.
    refetchInterval: 5_000,
  });
}

/** Mutations that change runs or workers; both lists are fetched anew afterwards. */
export function useFleetMutation<Input, Output>(action: (input: Input) => Promise<Output>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: action,
    onSettled: () => {
      void client.invalidateQueries({ queryKey: keys.runs });
      void client.invalidateQueries({ queryKey: keys.workers });
    },
  });
}

export const useCancelRun = () => useFleetMutation(api.cancelRun);
export const useDrainWorker = () =>
  useFleetMutation((input: { workerId: string; drain: boolean }) =>
    input.drain ? api.drainWorker(input.workerId) : api.undrainWorker(input.workerId),
  );

/** Follow a run as long as the component is there. `undefined` until the first batch of it arrived. */
export function useLiveRun(runId: string | null): LiveRun | undefined {
  useFollow(runId);
  return useLive(runId, (run) => run);
}

/** Follow a run without reading it; read parts of it with `useLive`. */
export function useFollow(runId: string | null): void {
  useEffect(() => (runId === null ? undefined : liveRuns.use(runId)), [runId]);
}

const LOG_POLL_MS = 700;

/** The console of a run, read on from where it ends as long as the run is `live`. */
export function useLog(
  runId: string,
  live: boolean,
): { log: LogView; loading: boolean; error: ApiProblem | null } {
  const [log, setLog] = useState<LogView>(EMPTY_LOG);
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<ApiProblem | null>(null);
  const [reader, setReader] = useState(() => ({ runId, buffer: new LogBuffer() }));
  if (reader.runId !== runId) {
    setReader({ runId, buffer: new LogBuffer() });
    setLog(EMPTY_LOG);
    setLoading(true);
  }
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const read = async () => {
      try {
        for (;;) {
          const response = await send(logUrl(runId, reader.buffer.bytes), { signal: stop.signal });
          const size = Number(response.headers.get("X-Codefy-Log-Size") ?? 0);
          const before = reader.buffer.bytes;
          const chunk = new Uint8Array(await response.arrayBuffer());
          // A later reader may have begun at the same place: only one of them may append.
          if (stop.signal.aborted) return;
          reader.buffer.push(chunk);
          if (reader.buffer.bytes > before) setLog(reader.buffer.view());
          if (reader.buffer.bytes >= size || reader.buffer.bytes === before) break;
        }
        setError(null);
      } catch (problem) {
        if (stop.signal.aborted) return;
        setError(problem instanceof ApiProblem ? problem : null);
      }
      setLoading(false);
      if (live) timer = window.setTimeout(read, LOG_POLL_MS);
    };
    void read();
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [runId, live, reader]);
  return { log, loading, error };
}
