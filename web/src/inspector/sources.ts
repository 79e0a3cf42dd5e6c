// Which kept output a port stands for. Pure.
import type { CapturedOutput, OutputList, Source } from "./types";

/** The output that a node's port gave: its own, or that of the node inside a preset which gives it. */
export function sourceOf(list: OutputList | undefined, path: string, port: string): Source {
  return list?.origins[path]?.[port] ?? { node_id: path, port };
}

export function keptOf(list: OutputList | undefined, source: Source): CapturedOutput | undefined {
  return list?.outputs.find((output) => output.node_id === source.node_id && output.port === source.port);
}

/** Each wired input with the output that fed it. */
export function inputsOf(list: OutputList | undefined, path: string): { port: string; source: Source }[] {
  return Object.entries(list?.inputs[path] ?? {}).map(([port, source]) => ({
    port,
    source: sourceOf(list, source.node_id, source.port),
  }));
}
