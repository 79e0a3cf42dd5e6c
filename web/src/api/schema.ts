// Made from /openapi.json by `npm run api-types`. Do not edit: change the server's structs instead.

export interface Accepted {
  type: "accepted";
  id: string | null;
  run_id: string;
  number: number;
}

export interface ArtifactList {
  run_id: string;
  artifacts: StoredArtifact[];
}

export interface Attach {
  type: "attach";
  id?: string | null;
  run_id: string;
  cursor?: number;
  metrics_cursor?: number;
}

export interface CapturedOutput {
  node_id: string;
  port: string;
  type: string;
  facts: Record<string, unknown>;
  size: number;
}

export interface ChangeFile {
  action: "make_folder" | "move";
  to?: string;
}

export interface ChangeRun {
  priority: number;
}

export interface Choice {
  value: string | number | boolean;
  label: string;
}

export interface Detach {
  type: "detach";
  id?: string | null;
  run_id: string;
}

export interface Device {
  name: string;
  kind: string;
  label?: string;
  uuid?: string | null;
  mig?: boolean;
  memory_total?: number | null;
  memory_free?: number | null;
  load?: number | null;
  temperature?: number | null;
  power_watts?: number | null;
  unclean?: UncleanSlot | null;
  foreign?: ForeignUse | null;
  cleanliness_unverifiable?: boolean;
}

export interface DeviceList {
  devices: DeviceStatus[];
}

export interface DeviceStatus {
  device: Device;
  slots: Slots;
  same_card?: SameCard[];
  closed?: string | null;
  closed_code?: string | null;
  closed_params?: Record<string, unknown> | null;
}

export interface Draft {
  name: string;
  revision: number;
  graph_revision: number;
  updated_at: number;
  graph: unknown;
}

export interface Ended {
  type: "ended";
  run_id: string;
}

export interface EventList {
  run_id: string;
  events: StoredEvent[];
  next_cursor: number;
  ended: boolean;
}

export interface Events {
  type: "events";
  run_id: string;
  events: StoredEvent[];
}

export interface Example {
  name: string;
  title: string;
  description: string;
  graph: unknown;
}

export interface ExampleList {
  examples: ExampleSummary[];
}

export interface ExampleSummary {
  name: string;
  title: string;
  description: string;
  node_count: number;
}

export interface FileEntry {
  name: string;
  path: string;
  kind: string;
  size: number | null;
  modified_at: number;
  media_type: string;
  sha256?: string | null;
}

export interface FileList {
  path: string;
  entries: FileEntry[];
  total: number;
  free_bytes: number;
}

export interface ForeignUse {
  memory?: number;
  pid: number;
  process?: string;
}

export interface GraphList {
  graphs: GraphSummary[];
  drafts?: GraphSummary[];
}

export interface GraphProblem {
  message: string;
  code: string;
  node_id: string | null;
  params: Record<string, unknown>;
}

export interface GraphShapes {
  wires: WireShape[];
  nodes: NodeShape[];
  problems: GraphProblem[];
}

export interface GraphSummary {
  name: string;
  revision: number;
  updated_at: number;
  node_count: number;
}

export interface GraphValidation {
  valid: boolean;
  problems: GraphProblem[];
}

export interface Health {
  status: string;
  version: string;
  protocol_version: number;
}

export interface MetricList {
  run_id: string;
  points: StoredMetric[];
  next_cursor: number;
}

export interface Metrics {
  type: "metrics";
  run_id: string;
  metrics_cursor: number;
  points: StoredMetric[];
}

export interface NodeDefinition {
  type: string;
  title: string;
  category: string;
  version: number;
  summary: string;
  doc: string;
  icon: string;
  inputs: PortDefinition[];
  outputs: PortDefinition[];
  params: ParamDefinition[];
  layer?: boolean;
  source?: string;
  deterministic?: boolean;
  writes?: boolean;
}

export interface NodeDifferences {
  only_here?: string[];
  only_there?: string[];
  different?: string[];
}

export interface NodeList {
  catalog_hash: string;
  nodes: NodeDefinition[];
  failures?: Record<string, string>[];
}

export interface NodeShape {
  node_id: string;
  outputs?: Record<string, (number | null)[]>;
  parameters?: number | null;
}

export interface OutputAbout {
  run_id: string;
  output: CapturedOutput;
  statistics: OutputStatistics | null;
  picture: PictureFacts | null;
}

export interface OutputGradient {
  run_id: string;
  node_id: string;
  parameter: string;
  statistics: OutputStatistics;
  part: OutputSlice;
}

export interface OutputList {
  run_id: string;
  kept: boolean;
  outputs?: CapturedOutput[];
  inputs?: Record<string, Record<string, Source>>;
  origins?: Record<string, Record<string, Source>>;
  traces?: TraceInfo[];
}

export interface OutputSlice {
  shape?: number[];
  dtype?: string;
  index?: number[];
  start?: number[];
  values?: unknown;
  text?: string;
}

export interface OutputStatistics {
  count: number;
  finite: number;
  nan: number;
  infinite: number;
  zero: number;
  mean?: number | string;
  std?: number | string;
  min?: number | string;
  max?: number | string;
  histogram?: number[];
}

export interface ParamDefinition {
  name: string;
  label: string;
  kind: string;
  default?: unknown;
  min?: number | null;
  max?: number | null;
  exclusive_min?: boolean;
  exclusive_max?: boolean;
  unit?: string;
  doc?: string;
  choices?: Choice[] | null;
  advanced?: boolean;
  optional?: boolean;
  visible_if?: VisibleIf | null;
}

export interface PeakMemory {
  devices?: Record<string, number>;
  exact?: boolean;
}

export interface PictureFacts {
  width: number;
  height: number;
  channels: number;
  leading?: number[];
}

export interface Ping {
  type: "ping";
  id?: string | null;
}

export interface Pong {
  type: "pong";
  id?: string | null;
}

export interface PortDefinition {
  name: string;
  label: string;
  type: string;
  required?: boolean;
  doc?: string;
  repeat?: string;
}

export interface Preflight {
  providers: ProspectView[];
  usual_duration_s?: number | null;
}

export interface PreflightRequest {
  graph: unknown;
  options?: RunOptions;
}

export interface PresetList {
  presets: PresetSummary[];
}

export interface PresetSummary {
  name: string;
  description: string;
  revision: number;
  updated_at: number;
  node_count: number;
  inputs: string[];
  outputs: string[];
  params: string[];
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  params?: Record<string, unknown>;
  problems?: GraphProblem[] | null;
  current?: unknown;
}

export interface ProspectView {
  worker_id: string;
  verdict: string;
  devices?: string[];
  reason?: ReasonText | null;
  ahead?: number;
}

export interface ProvenanceList {
  run_id: string;
  attempt: number;
  fingerprint: unknown;
  fingerprint_digest: string | null;
  records: ProvenanceRecord[];
  next_cursor: number;
}

export interface ProvenanceRecord {
  node_id: string;
  type: string;
  version: number;
  code?: string;
  params_hash: string;
  inputs?: Record<string, string>;
  input_hashes?: Record<string, string>;
  seed?: number | null;
  device?: string | null;
  status?: string;
  volatile?: boolean;
  ended_at?: number;
  duration_s?: number;
}

export interface ReasonText {
  code: string;
  message: string;
  params?: Record<string, unknown>;
}

export interface Refusal {
  type: "error";
  id?: string | null;
  code: string;
  message: string;
  params: Record<string, unknown>;
  run_id?: string | null;
  problems?: GraphProblem[] | null;
}

export interface RenameGraph {
  name: string;
}

export interface Run {
  type: "run";
  id?: string | null;
  graph: unknown;
  options?: RunOptions;
  name?: string;
  secrets?: Record<string, string>;
}

export interface RunCancelled {
  run_id: string;
  status: string;
  cancel_requested: boolean;
}

export interface RunDetail {
  run_id: string;
  number: number;
  name: string;
  graph_name: string;
  lane: string;
  status: string;
  attempt: number;
  queue_key: string;
  queue_position?: number | null;
  queue_reason?: string | null;
  queue_reason_code?: string | null;
  queue_reason_params?: Record<string, unknown> | null;
  worker_id?: string | null;
  device?: string;
  devices?: string[];
  created_at: number;
  started_at?: number | null;
  ended_at?: number | null;
  last_heard_at?: number | null;
  error?: RunError | null;
  progress?: unknown;
  latest_metrics?: Record<string, number | string>;
  event_count?: number;
  cancel_requested?: boolean;
  graph: unknown;
  options: RunOptions;
  graph_hash: string;
  execution_facts?: Record<string, unknown>;
  secret_names?: string[];
  peak_memory?: PeakMemory | null;
}

export interface RunError {
  code: string;
  message: string;
  params?: Record<string, string | number | boolean | unknown[] | Record<string, unknown> | null>;
  node_id?: string | null;
  traceback?: string | null;
  problems?: Record<string, unknown>[] | null;
  output_tail?: string | null;
}

export interface RunList {
  runs: RunSummary[];
  next_cursor: string | null;
  total: number;
  counts: Record<string, number>;
}

export interface RunOptions {
  device?: string | null;
  target?: Target | null;
  lane?: string;
  seed?: number | null;
  deterministic?: boolean;
  record_outputs?: boolean;
  provenance?: boolean;
  priority?: number;
  retry?: Record<string, unknown> | null;
  resume_grace_s?: number | null;
  error_mode?: string;
  until_node?: string | null;
}

export interface RunSubmitted {
  run_id: string;
  number: number;
  status: string;
  queue_key: string;
  queue_position: number | null;
}

export interface RunSummary {
  run_id: string;
  number: number;
  name: string;
  graph_name: string;
  lane: string;
  status: string;
  attempt: number;
  queue_key: string;
  queue_position?: number | null;
  queue_reason?: string | null;
  queue_reason_code?: string | null;
  queue_reason_params?: Record<string, unknown> | null;
  worker_id?: string | null;
  device?: string;
  devices?: string[];
  created_at: number;
  started_at?: number | null;
  ended_at?: number | null;
  last_heard_at?: number | null;
  error?: RunError | null;
  progress?: unknown;
  latest_metrics?: Record<string, number | string>;
  event_count?: number;
  cancel_requested?: boolean;
}

export interface RunsChanged {
  type: "runs_changed";
}

export interface SameCard {
  worker_id: string;
  device: string;
}

export interface SaveDraft {
  graph: unknown;
  base_revision?: number | null;
  graph_revision?: number;
}

export interface SaveGraph {
  graph: unknown;
  base_revision?: number | null;
}

export interface SavePreset {
  preset: Record<string, unknown>;
  presets?: Record<string, unknown>;
  subgraphs?: Record<string, unknown>;
  description?: string;
  base_revision?: number | null;
}

export interface SavedGraph {
  name: string;
  revision: number;
  updated_at: number;
  graph: unknown;
}

export interface ServerInfo {
  version: string;
  data_dir: string;
  token_file: string;
}

export interface Slots {
  limit: number;
  used: number;
  run_ids: string[];
  limited_by?: string | null;
}

export interface Source {
  node_id: string;
  port: string;
}

export interface Stop {
  type: "stop";
  id?: string | null;
  run_id: string;
}

export interface StoredArtifact {
  artifact_id: number;
  kind: string;
  name: string;
  path: string;
  node_id: string;
  size: number | null;
  sha256: string | null;
  media_type: string;
  backend: string;
  meta: Record<string, unknown>;
  available: boolean;
  created_at: number;
}

export interface StoredEvent {
  cursor: number;
  type: string;
  ts: number;
  payload: unknown;
}

export interface StoredMetric {
  name: string;
  value: number | string;
  step: number;
  epoch?: number | null;
  scope?: string;
  node_id?: string;
  ts?: number;
}

export interface StoredPreset {
  name: string;
  description: string;
  revision: number;
  updated_at: number;
  node_count: number;
  inputs: string[];
  outputs: string[];
  params: string[];
  preset: unknown;
  presets: unknown;
  subgraphs: unknown;
}

export interface SubmitRun {
  graph: unknown;
  options?: RunOptions;
  name?: string;
  secrets?: Record<string, string>;
}

export interface Target {
  worker?: string | null;
  devices?: string[] | null;
  pool?: string | null;
  memory_gib?: number | null;
  memory_source?: string | null;
  wait?: boolean;
}

export interface TensorFacts {
  count: number;
  mean: number | string;
  std: number | string;
  min: number | string;
  max: number | string;
  zero: number | string;
  norm: number | string;
  nonfinite?: number;
  histogram?: number[];
}

export interface Trace {
  info: TraceInfo;
  steps: TraceStep[];
}

export interface TraceInfo {
  node_id: string;
  kind: string;
  kept: number;
  first: number | null;
  last: number | null;
  values: string[];
  gradients: string[];
  whole_gradients: string[];
  left_out: number;
  size: number;
}

export interface TraceStep {
  step: number;
  epoch?: number | string | null;
  values?: Record<string, TensorFacts>;
  gradients?: Record<string, TensorFacts>;
}

export interface UncleanSlot {
  run_id: string;
  attempt?: number;
  pid: number;
  process?: string;
  pids?: number[];
}

export interface UploadProgress {
  received: number;
  file: FileEntry | null;
}

export interface ValidateGraph {
  graph: unknown;
}

export interface VisibleIf {
  param: string;
  equals: (string | number | boolean)[];
}

export interface Waiting {
  run_id: string;
  position: number;
  priority: number;
  sentence: string;
  reason?: ReasonText | null;
  ahead?: string[];
  blocked_by?: string[];
  reserved_for?: string[];
  expected_start_at?: number | null;
  elsewhere?: ProspectView[];
}

export interface WatchRuns {
  type: "watch_runs";
  id?: string | null;
}

export interface WireShape {
  source: string;
  source_port: string;
  target: string;
  target_port: string;
  edge_id?: string | null;
  shape?: (number | null)[] | null;
  dtype?: string;
  text?: string;
}

export interface WorkerList {
  workers: WorkerStatus[];
}

export interface WorkerStatus {
  worker_id: string;
  label: string;
  state: string;
  draining: boolean;
  outdated: boolean;
  same_machine: boolean;
  product_version: string;
  platform: string;
  connected_at: number | null;
  last_heard_at: number | null;
  devices: DeviceStatus[];
  run_ids: string[];
  capabilities: string[];
  engine?: string | null;
  node_differences?: NodeDifferences | null;
}
