// The HTTP side of captured outputs.
import { send } from "../api";
import type { OutputAbout, OutputGradient, OutputList, OutputSlice, Source, Trace, Window } from "./types";

function query(params: Record<string, string | number | readonly number[]>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    const text = Array.isArray(value) ? value.join(",") : String(value);
    if (text !== "") search.set(name, text);
  }
  return search.toString();
}

const base = (runId: string) => `/api/execution/outputs/${encodeURIComponent(runId)}`;

async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}

export const outputsApi = {
  list: (runId: string, signal?: AbortSignal) =>
    read<OutputList>(`/api/execution/outputs?${query({ run_id: runId })}`, signal),
  about: (runId: string, { node_id, port }: Source, signal?: AbortSignal) =>
    read<OutputAbout>(`${base(runId)}/about?${query({ node_id, port })}`, signal),
  values: (runId: string, { node_id, port }: Source, window: Window, signal?: AbortSignal) =>
    read<OutputSlice>(`${base(runId)}/values?${query({ node_id, port, ...window })}`, signal),
  steps: (runId: string, nodeId: string, signal?: AbortSignal) =>
    read<Trace>(`${base(runId)}/steps?${query({ node_id: nodeId })}`, signal),
  gradient: (runId: string, nodeId: string, parameter: string, window: Window, signal?: AbortSignal) =>
    read<OutputGradient>(
      `${base(runId)}/gradient?${query({ node_id: nodeId, parameter, ...window })}`,
      signal,
    ),
};

/** Where the picture of an output is. */
export function pictureUrl(runId: string, { node_id, port }: Source, index: readonly number[]): string {
  return `${base(runId)}/image?${query({ node_id, port, index })}`;
}
