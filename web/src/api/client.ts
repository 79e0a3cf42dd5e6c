// The HTTP side of the API. The session cookie authenticates; errors arrive as application/problem+json.
import { presence } from "./presence";
import type {
  ArtifactList,
  DeviceList,
  Draft,
  EventList,
  Example,
  ExampleList,
  FileEntry,
  FileList,
  GraphList,
  GraphProblem,
  GraphShapes,
  GraphValidation,
  Health,
  MetricList,
  NodeDefinition,
  NodeList,
  ParamValue,
  PresetList,
  Problem,
  RunCancelled,
  RunDetail,
  RunList,
  RunOptions,
  RunSubmitted,
  SavedGraph,
  SavePreset,
  ServerInfo,
  StoredPreset,
  UploadProgress,
  WorkerList,
} from "./types";

/** An answer of 400 or more, or none at all (`code` "unreachable", `status` 0). `message` is English for people. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly params: Record<string, ParamValue>;
  readonly problems: GraphProblem[];
  /** What is there now, when a write came too late: the document with its revision. */
  readonly current: SavedGraph | null;

  constructor(problem: {
    status: number;
    code: string;
    message: string;
    params?: Record<string, ParamValue> | undefined;
    problems?: GraphProblem[] | null | undefined;
    current?: unknown;
  }) {
    super(problem.message);
    this.name = "ApiProblem";
    this.status = problem.status;
    this.code = problem.code;
    this.params = problem.params ?? {};
    this.problems = problem.problems ?? [];
    this.current = (problem.current as SavedGraph | null | undefined) ?? null;
  }
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as Problem;
    if (typeof body.code === "string") {
      return new ApiProblem({
        status: response.status,
        code: body.code,
        message: body.detail || body.title,
        params: body.params,
        problems: body.problems,
        current: body.current,
      });
    }
  } catch {
    // Not from Codefy (a proxy's page, say): the status line is all there is to tell.
  }
  return new ApiProblem({
    status: response.status,
    code: "unexpected_answer",
    message: `The server answered ${response.status} ${response.statusText}`.trim(),
    params: { status: response.status },
  });
}

/** The one path that needs no token. */
const HEALTH = "/api/health";

export interface RequestOptions {
  /** The browser sends it even when the page is left; for at most 64 KiB. */
  keepalive?: boolean;
  method?: string;
  body?: unknown;
  /** Sent as they are, in place of a `body`. */
  bytes?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** `fetch` that throws `ApiProblem` for every answer that is not 2xx and for no answer. Aborts stay AbortErrors. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const init: RequestInit = { method: options.method ?? "GET", credentials: "same-origin" };
  if (options.signal) init.signal = options.signal;
  if (options.keepalive === true) init.keepalive = true;
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body);
    init.headers = { "Content-Type": "application/json", ...options.headers };
  } else if (options.bytes !== undefined) {
    init.body = options.bytes;
    init.headers = { "Content-Type": "application/octet-stream", ...options.headers };
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    presence.unanswered();
    throw new ApiProblem({ status: 0, code: "unreachable", message: "The server does not answer." });
  }
  presence.heard();
  if (!response.ok) {
    const problem = await problemOf(response);
    if (response.status === 401) presence.refused(problem);
    throw problem;
  }
  if (path !== HEALTH) presence.admitted();
  return response;
}

async function json<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

function query(params: Record<string, string | number | null | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}

const part = encodeURIComponent;

export interface RunListQuery {
  limit?: number;
  cursor?: string | null;
  status?: string | null;
}

export interface SubmitRun {
  graph: unknown;
  options?: RunOptions;
  name?: string;
  /** Values of the secrets that the graph refers to, by name. */
  secrets?: Readonly<Record<string, string>>;
}

export interface UploadPart {
  bytes: Blob;
  start: number;
  total: number;
  /** A word that all parts of one upload have in common, in ASCII. */
  upload: string;
  ifExists: "refuse" | "replace" | "number";
}

/** Where an artifact's bytes are; `download` makes the browser save them. */
export function artifactUrl(runId: string, artifactId: number, download = false): string {
  return `/api/runs/${part(runId)}/artifacts/${artifactId}/content${download ? "?download=1" : ""}`;
}

/** Where a file of the data folder is; `download` makes the browser save it. */
export function fileUrl(path: string, download = false): string {
  return `/api/files/${path.split("/").map(part).join("/")}${download ? "?download=1" : ""}`;
}

export function logUrl(runId: string, from = 0): string {
  return `/api/runs/${part(runId)}/log${query({ from: from || null })}`;
}

export const api = {
  health: (signal?: AbortSignal) => json<Health>(HEALTH, { signal }),

  nodes: (signal?: AbortSignal) => json<NodeList>("/api/nodes", { signal }),
  node: (type: string, signal?: AbortSignal) => json<NodeDefinition>(`/api/nodes/${part(type)}`, { signal }),

  examples: (signal?: AbortSignal) => json<ExampleList>("/api/examples", { signal }),
  example: (name: string, signal?: AbortSignal) => json<Example>(`/api/examples/${part(name)}`, { signal }),

  graphs: (signal?: AbortSignal) => json<GraphList>("/api/graphs", { signal }),
  graph: (name: string, signal?: AbortSignal) => json<SavedGraph>(`/api/graphs/${part(name)}`, { signal }),
  saveGraph: (
    name: string,
    graph: unknown,
    baseRevision: number | null = null,
    options: Pick<RequestOptions, "keepalive" | "signal"> = {},
  ) =>
    json<SavedGraph>(`/api/graphs/${part(name)}`, {
      method: "PUT",
      body: baseRevision === null ? { graph } : { graph, base_revision: baseRevision },
      ...options,
    }),
  renameGraph: (name: string, to: string) =>
    json<SavedGraph>(`/api/graphs/${part(name)}/rename`, { method: "POST", body: { name: to } }),
  draft: (name: string, signal?: AbortSignal) => json<Draft>(`/api/graphs/${part(name)}/draft`, { signal }),
  saveDraft: (
    name: string,
    graph: unknown,
    base: { revision: number | null; graphRevision: number },
    options: Pick<RequestOptions, "keepalive" | "signal"> = {},
  ) =>
    json<Draft>(`/api/graphs/${part(name)}/draft`, {
      method: "PUT",
      body: { graph, base_revision: base.revision, graph_revision: base.graphRevision },
      ...options,
    }),
  deleteDraft: async (name: string): Promise<void> => {
    await send(`/api/graphs/${part(name)}/draft`, { method: "DELETE" });
  },

  presets: (signal?: AbortSignal) => json<PresetList>("/api/presets", { signal }),
  preset: (name: string, signal?: AbortSignal) =>
    json<StoredPreset>(`/api/presets/${part(name)}`, { signal }),
  savePreset: (name: string, preset: SavePreset) =>
    json<StoredPreset>(`/api/presets/${part(name)}`, { method: "PUT", body: preset }),
  deletePreset: async (name: string): Promise<void> => {
    await send(`/api/presets/${part(name)}`, { method: "DELETE" });
  },
  deleteGraph: async (name: string): Promise<void> => {
    await send(`/api/graphs/${part(name)}`, { method: "DELETE" });
  },
  validateGraph: (graph: unknown, signal?: AbortSignal) =>
    json<GraphValidation>("/api/graphs/validate", { method: "POST", body: { graph }, signal }),
  graphShapes: (graph: unknown, signal?: AbortSignal) =>
    json<GraphShapes>("/api/graphs/shapes", { method: "POST", body: { graph }, signal }),

  files: (folder = "", signal?: AbortSignal) => json<FileList>(`/api/files${query({ folder })}`, { signal }),
  /** A part of a file, or all of it: `start` and `total` in bytes. */
  uploadPart: (path: string, part: UploadPart, signal?: AbortSignal) =>
    json<UploadProgress>(`${fileUrl(path)}${query({ if_exists: part.ifExists })}`, {
      method: "PUT",
      bytes: part.bytes,
      headers: {
        "X-Codefy-Upload": part.upload,
        ...(part.total === 0
          ? {}
          : { "Content-Range": `bytes ${part.start}-${part.start + part.bytes.size - 1}/${part.total}` }),
      },
      signal,
    }),
  makeFolder: (path: string) =>
    json<FileEntry>(fileUrl(path), { method: "POST", body: { action: "make_folder" } }),
  moveFile: (path: string, to: string) =>
    json<FileEntry>(fileUrl(path), { method: "POST", body: { action: "move", to } }),
  deleteFile: async (path: string, withContent = false): Promise<void> => {
    await send(`${fileUrl(path)}${query({ with_content: withContent ? "1" : null })}`, { method: "DELETE" });
  },

  submitRun: (run: SubmitRun) => json<RunSubmitted>("/api/runs", { method: "POST", body: run }),
  runs: (filter: RunListQuery = {}, signal?: AbortSignal) =>
    json<RunList>(`/api/runs${query({ ...filter })}`, { signal }),
  run: (runId: string, signal?: AbortSignal) => json<RunDetail>(`/api/runs/${part(runId)}`, { signal }),
  cancelRun: (runId: string) => json<RunCancelled>(`/api/runs/${part(runId)}/cancel`, { method: "POST" }),
  deleteRun: async (runId: string): Promise<void> => {
    await send(`/api/runs/${part(runId)}`, { method: "DELETE" });
  },
  events: (runId: string, cursor = 0, limit?: number, signal?: AbortSignal) =>
    json<EventList>(`/api/runs/${part(runId)}/events${query({ cursor, limit })}`, { signal }),
  metrics: (
    runId: string,
    filter: { cursor?: number; limit?: number; name?: string } = {},
    signal?: AbortSignal,
  ) => json<MetricList>(`/api/runs/${part(runId)}/metrics${query({ ...filter })}`, { signal }),
  artifacts: (runId: string, signal?: AbortSignal) =>
    json<ArtifactList>(`/api/runs/${part(runId)}/artifacts`, { signal }),

  workers: (signal?: AbortSignal) => json<WorkerList>("/api/workers", { signal }),
  drainWorker: async (workerId: string): Promise<void> => {
    await send(`/api/workers/${part(workerId)}/drain`, { method: "POST" });
  },
  undrainWorker: async (workerId: string): Promise<void> => {
    await send(`/api/workers/${part(workerId)}/undrain`, { method: "POST" });
  },
  devices: (signal?: AbortSignal) => json<DeviceList>("/api/system/devices", { signal }),
  server: (signal?: AbortSignal) => json<ServerInfo>("/api/system/server", { signal }),
};
