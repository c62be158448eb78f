// Shapes of the service's answers, as far as the page reads them (docs: /openapi.json).
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export type Values = Record<string, Value>;
export interface Page<T> {
  items: T[];
  next: string | null;
}
export interface Short {
  run_id: string;
  status: string;
  started_at: string;
  finished_at: string | null;
  duration_seconds: number | null;
  counts_source: number | null;
  counts_good: number | null;
  counts_quarantined: number | null;
  quality_score: number | null;
  target_version: number | null;
}
export interface Run extends Short {
  pipeline_run_id: string | null;
  dataset: string;
  contract: string;
  contract_version: string | null;
  layer: string | null;
  domain: string | null;
  system: string | null;
  environment: string | null;
  engine: string | null;
  engine_version: string | null;
  reason: string | null;
  error_code: string | null;
  error_message?: string | null;
  error?: { hint?: string | null; diagnostics?: { code?: string; message?: string; hint?: string | null; file?: string | null; line?: number | null }[] } | null;
  counts_filtered: number | null;
  counts_deduplicated: number | null;
  window_start: string | null;
  window_end: string | null;
  watermark: string | null;
  files: number | null;
  bytes_read: number | null;
  bytes_written: number | null;
  target: string | null;
  quarantine_target: string | null;
  estimated_cost: number | string | null;
  cost_currency: string | null;
  lakelogic_version: string;
  rule_failures?: Record<string, number> | null;
  dataset_rules?: { name: string; passed: boolean; value: Value; expected: string; severity: string }[] | null;
  service_levels?: { name: string; kept: boolean | null; value: Value; expected: string }[] | null;
  schema_drift?: Value;
}
export interface Account {
  run_id: string;
  dataset: string;
  status: string;
  unaccounted: number | null;
  rule_failures: Record<string, number> | null;
  account: {
    read?: number;
    good?: number;
    quarantined?: number;
    filtered?: Record<string, number>;
    deduplicated?: Record<string, number>;
    grouped?: Record<string, number>;
    expanded?: Record<string, number>;
    applied?: Record<string, number>;
    evidence?: Record<string, number>;
    digests?: Record<string, string>;
  };
}
export interface Dataset {
  dataset: string;
  entity: string;
  layer: string | null;
  domain: string | null;
  system: string | null;
  data_product: string | null;
  owner: string | null;
  title: string | null;
  description: string | null;
  enabled: boolean;
  contract_version: string | null;
  file: string;
  strategy: string;
  target: string | null;
  primary_key: string[];
  last_run: Run | null;
  recent?: Short[];
}
export interface DatasetDetail extends Dataset {
  fields: { name: string; type: string; required: boolean; description: string | null; masking: string | null; personal: boolean }[];
  rules: string[];
  upstreams: string[];
  downstreams: string[];
  runs: Run[];
}
export interface Queue {
  dataset: string;
  table: string;
  version: number | null;
  oldest: string | null;
  active: number;
  replayed: number;
  discarded: number;
  superseded?: number;
  rules: Record<string, number>;
}
export interface QueueFacets {
  dataset: string;
  table: string;
  total: number;
  oldest: string | null;
  counts: Record<string, Record<string, number>>;
}
export interface QueueRow {
  row_id: string;
  state: "active" | "replayed" | "discarded" | "superseded";
  at: string;
  first_seen: string | null;
  runs: number;
  run_id: string;
  rules: string[];
  categories: string[];
  source: string | null;
  line: number | null;
  settled_by: string | null;
  settled_at: string | null;
  settled_why: string | null;
  rejection_reason: string | null;
}
export interface Step {
  kind: string;
  what: string;
  values: Values;
  outcome: string | null;
}
export interface Story {
  dataset: string;
  table: string;
  row_id?: string;
  state?: string;
  source: string | null;
  line?: number | null;
  errors?: string[];
  categories?: string[];
  rules?: string[];
  run_id: string;
  at: string;
  first_seen?: string | null;
  last_seen?: string | null;
  runs?: number;
  contract_version?: string | null;
  settled_by?: string | null;
  settled_at?: string | null;
  settled_why?: string | null;
  values: Values;
  story: Step[] | null;
  notes: string[];
}
export interface Job {
  job_id: string;
  kind: string;
  dataset: string;
  domain: string | null;
  person: string;
  why: string | null;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  cancel_asked: boolean;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  attempts: number;
  choices: Values;
  outcome: Values | null;
}
export interface LogLine {
  seq: number;
  at: string;
  topic: string;
  kind: string;
  text: string | null;
}
export interface Log {
  job_id: string | null;
  lines: LogLine[];
  next: number | null;
  note?: string | null;
}
export interface GraphNode {
  dataset: string;
  entity: string;
  layer: string | null;
  domain: string | null;
  system: string | null;
  owner: string | null;
  upstreams: string[];
  hidden: { upstream: number; downstream: number };
}
export interface Graph {
  focus: string | null;
  datasets: GraphNode[];
  edges: { upstream: string; downstream: string; kinds: string[]; file: string; line: number }[];
  unknown: unknown[];
}
export interface Approval {
  run_id: string;
  dataset: string;
  held_at: string;
  counts: { source: number; good: number; quarantined: number };
  reasons: string[];
  overtaken: string | null;
}
export interface Act {
  act_id: string;
  done_at: string;
  act: string;
  dataset: string | null;
  person: string;
  why: string | null;
  facts: Values | null;
}
export interface Level {
  name: string;
  kept: boolean | null;
  promised?: string;
  expected?: string;
  found?: Value;
  value?: Value;
  unit?: string | null;
  since?: string | null;
  attained?: number | null;
  runs?: number;
  breaches?: number;
  next_due?: string | null;
  history?: { run_id: string; at: string; kept: boolean | null; found: Value }[];
}
export interface Promise_ {
  dataset: string;
  domain: string | null;
  layer: string | null;
  promised: Values;
  run_id: string | null;
  at: string | null;
  levels: Level[];
}
export interface Contract {
  dataset: string;
  file: string;
  version: string | null;
  document: Values;
  origins: { path: string; file: string; line: number }[];
  packs: string[];
  text: string;
}
export interface Sample {
  dataset: string;
  table: string;
  version: number | null;
  total: number | null;
  columns: string[];
  rows: Values[];
}
export interface UpRow {
  at: string | null;
  key: Value[] | null;
  values: Values;
  file: string | null;
  line: number | null;
  run_id: string | null;
}
export interface Upstream {
  kind: "dataset" | "table" | "file";
  role: "source" | "link";
  name: string;
  dataset: string | null;
  layer: string | null;
  version: number | null;
  exact: boolean;
  why: string[];
  through: { label: string; detail: string | null }[];
  where: string | null;
  total: number | null;
  columns: string[];
  hidden: string[];
  rows: UpRow[];
  next: string | null;
}
export interface Drill {
  row: {
    dataset: string;
    layer: string | null;
    table: string;
    version: number | null;
    at: string;
    key: Value[] | null;
    key_columns: string[];
    values: Values;
    hidden: string[];
    run_id: string | null;
    processed_at: string | null;
    source: string | null;
  };
  upstreams: Upstream[];
}
export interface SourceLines {
  file: string;
  line: number;
  changed: boolean;
  columns: string[];
  hidden: string[];
  lines: { line: number; values: Values; is_asked: boolean }[];
}
export interface ColumnLineage {
  dataset: string;
  columns: {
    column: string;
    type: string;
    masked: string | null;
    kind: string;
    upstream: { dataset: string | null; name: string; column: string; kind: string; steps: { label: string; detail: string | null; expression?: string | null }[] }[];
    downstream: { dataset: string; column: string; kind: string }[];
  }[];
  nodes: { id: string; dataset: string | null; name: string; column: string; layer: string | null; masked: string | null }[];
  edges: { from: string; to: string; kind: string }[];
}
export interface Preview {
  action: string;
  dataset: string;
  token: string;
  chosen: number;
  passed: number;
  failed: number;
  left_out: Record<string, number>;
  reasons: { rule: string; label: string | null; text: string; rows: number }[];
  rows: { row_id: string; outcome: string; was: string[]; now: string[]; why: string | null; values: Values }[];
  more: boolean;
  downstreams: string[];
  notes: string[];
}
export interface Diff {
  verdict: "breaking" | "needs care" | "safe" | "same";
  changes: { path?: string; gravity?: string; verdict?: string; text?: string; what?: string; why?: string; [key: string]: unknown }[];
}
export interface Me {
  person: string;
  roles: Record<string, string>;
  version: string;
}
