// React's door to captured outputs. They come while the run goes on and stay as they are after their node has ended.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLive } from "../api";
import { outputsApi } from "./api";
import type { OutputList, Source, Window } from "./types";

const ENDED = new Set(["succeeded", "reused", "failed"]);

/** What is kept of a run; asked for again as nodes end. */
export function useOutputs(runId: string | null): OutputList | undefined {
  const ended = useLive(
    runId,
    (live) => Object.values(live?.nodes ?? {}).filter((node) => ENDED.has(node.status)).length,
  );
  const { data } = useQuery({
    queryKey: ["outputs", runId, ended],
    queryFn: ({ signal }) => outputsApi.list(runId ?? "", signal),
    enabled: runId !== null,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });
  return data?.run_id === runId ? data : undefined;
}

export function useAbout(runId: string, source: Source) {
  return useQuery({
    queryKey: ["outputs", "about", runId, source.node_id, source.port],
    queryFn: ({ signal }) => outputsApi.about(runId, source, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useValues(runId: string, source: Source, window: Window) {
  return useQuery({
    queryKey: ["outputs", "values", runId, source.node_id, source.port, window],
    queryFn: ({ signal }) => outputsApi.values(runId, source, window, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const STEPS_EVERY_MS = 2_000;

/** What went on inside a node; read on while it is `live`. */
export function useSteps(runId: string, nodeId: string, live: boolean) {
  return useQuery({
    queryKey: ["outputs", "steps", runId, nodeId, live],
    queryFn: ({ signal }) => outputsApi.steps(runId, nodeId, signal),
    placeholderData: keepPreviousData,
    refetchInterval: live ? STEPS_EVERY_MS : false,
    staleTime: live ? 0 : Number.POSITIVE_INFINITY,
  });
}

export function useGradient(runId: string, nodeId: string, parameter: string, window: Window, live: boolean) {
  return useQuery({
    queryKey: ["outputs", "gradient", runId, nodeId, parameter, window, live],
    queryFn: ({ signal }) => outputsApi.gradient(runId, nodeId, parameter, window, signal),
    placeholderData: keepPreviousData,
    staleTime: live ? STEPS_EVERY_MS : Number.POSITIVE_INFINITY,
  });
}
