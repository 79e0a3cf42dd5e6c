// Events of a run as one line each. Pure.
import type { StoredEvent } from "../api";
import { fromJsonNumber } from "../api";
import { metricText } from "../charts/format";

export function nodeOf(event: StoredEvent): string {
  const nodeId = (event.payload as { node_id?: unknown } | null)?.node_id;
  return typeof nodeId === "string" ? nodeId : "";
}

/** What the payload says, without the node and without what a machine needs only. */
export function eventText(event: StoredEvent): string {
  const payload = event.payload as Record<string, unknown> | null;
  if (typeof payload !== "object" || payload === null) return "";
  const text = (name: string) => (typeof payload[name] === "string" ? (payload[name] as string) : "");
  switch (event.type) {
    case "node_status":
      return [text("status"), outputsText(payload.outputs), errorText(payload.error)]
        .filter(Boolean)
        .join(", ");
    case "node_progress":
      return [
        text("text"),
        typeof payload.current === "number" && typeof payload.total === "number"
          ? `${payload.current} / ${payload.total} ${text("unit")}`.trim()
          : "",
        metricsText(payload.metrics),
      ]
        .filter(Boolean)
        .join(", ");
    case "inner_node_status": {
      const path = Array.isArray(payload.path) ? payload.path.join(" / ") : "";
      const shape = Array.isArray(payload.shape) ? payload.shape.join("×") : "";
      const parameters = typeof payload.parameters === "number" ? `${payload.parameters} parameters` : "";
      return [path, text("type"), text("status"), shape, parameters].filter(Boolean).join(", ");
    }
    case "run_warning":
      return text("message");
    case "execution_error":
      return errorText(payload.error);
    default:
      return Object.entries(payload)
        .filter(([, value]) => value !== null && typeof value !== "object" && value !== "")
        .map(([name, value]) => `${name} ${typeof value === "number" ? metricText(value) : String(value)}`)
        .join(", ");
  }
}

function outputsText(outputs: unknown): string {
  if (typeof outputs !== "object" || outputs === null) return "";
  return Object.entries(outputs as Record<string, { summary?: unknown }>)
    .map(([port, output]) => (typeof output?.summary === "string" ? `${port}: ${output.summary}` : port))
    .join("; ");
}

function errorText(error: unknown): string {
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : "";
}

function metricsText(metrics: unknown): string {
  if (typeof metrics !== "object" || metrics === null) return "";
  return Object.entries(metrics as Record<string, number | string>)
    .map(([name, value]) => `${name} ${metricText(fromJsonNumber(value))}`)
    .join(", ");
}
