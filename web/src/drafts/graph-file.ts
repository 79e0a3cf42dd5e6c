// Graph files from outside: what a file is, said before anything is opened; and a graph as a file.
import { type GraphDocument, levelOf, NotAGraph, presetScope, readDocument } from "../canvas/model/document";
import { jsonFaultAt, placeIn } from "./json-fault";
import { isRecord } from "./same";

/** The server takes no larger body. */
export const MOST_BYTES = 32 * 1024 * 1024 - 4096;
/** The newest format that this page knows. */
export const FORMAT_VERSION = 1;
const ENDING = /\.(codefy\.)?json$/i;

/** Why a file is not opened as a graph. `params` go into the sentence. */
export interface FileFault {
  fault:
    | "tooLarge"
    | "empty"
    | "notJson"
    | "runExport"
    | "events"
    | "preset"
    | "noNodes"
    | "badPart"
    | "tooNew";
  params: Record<string, string | number>;
  /** The run that the file is about, if it names one. */
  runId?: string;
}

export interface GraphFile {
  doc: GraphDocument;
  /** What to call it, from the file's name. */
  name: string;
}

/** Reads a file that was dropped or chosen. Never rejects for what is in it. */
export async function readGraphFile(file: File): Promise<GraphFile | FileFault> {
  if (file.size > MOST_BYTES) {
    return { fault: "tooLarge", params: { size: file.size, most: MOST_BYTES } };
  }
  return readGraphText(await file.text(), file.name.replace(ENDING, ""));
}

export function readGraphText(text: string, name: string): GraphFile | FileFault {
  const plain = text.replace(/^\uFEFF/, "");
  if (plain.trim() === "") return { fault: "empty", params: {} };
  let value: unknown;
  try {
    value = JSON.parse(plain);
  } catch {
    return { fault: "notJson", params: placeIn(plain, jsonFaultAt(plain)) };
  }
  const other = somethingElse(value);
  if (other !== null) return other;
  if (isRecord(value) && typeof value.format_version === "number" && value.format_version > FORMAT_VERSION) {
    return { fault: "tooNew", params: { found: value.format_version, supported: FORMAT_VERSION } };
  }
  try {
    return { doc: readDocument(value), name };
  } catch (error) {
    if (!(error instanceof NotAGraph)) throw error;
    if (error.at === "nodes" || error.at === "$") return { fault: "noNodes", params: {} };
    return { fault: "badPart", params: { at: error.at } };
  }
}

/** Files of ours that are no graphs. */
function somethingElse(value: unknown): FileFault | null {
  if (Array.isArray(value)) {
    const first: unknown = value[0];
    const events = isRecord(first) && "cursor" in first && "type" in first && "payload" in first;
    return events ? { fault: "events", params: {} } : { fault: "noNodes", params: {} };
  }
  if (!isRecord(value) || Array.isArray(value.nodes)) return null;
  const runId = typeof value.run_id === "string" ? value.run_id : undefined;
  if (runId !== undefined || (Array.isArray(value.events) && "next_cursor" in value)) {
    return { fault: "runExport", params: {}, ...(runId === undefined ? {} : { runId }) };
  }
  if (isRecord(value.preset) && Array.isArray(value.preset.nodes)) return { fault: "preset", params: {} };
  return null;
}

/** Types in the document, groups too, that `known` does not have; each once, with how many nodes are of it. */
export function unknownTypes(doc: GraphDocument, known: (type: string) => boolean): Map<string, number> {
  const found = new Map<string, number>();
  const levels = [
    levelOf(doc, null),
    ...Object.keys(doc.subgraphs ?? {}).map((name) => levelOf(doc, name)),
    ...Object.keys(doc.presets ?? {}).map((name) => levelOf(doc, presetScope(name))),
  ];
  for (const level of levels) {
    for (const { type } of level.nodes) {
      if (!known(type)) found.set(type, (found.get(type) ?? 0) + 1);
    }
  }
  return found;
}

/** The text of a graph file, as people read and compare it. */
export function graphText(doc: GraphDocument): string {
  return `${JSON.stringify(doc, null, 2)}\n`;
}

/** Lets the browser save a text as a file. */
export function offerFile(name: string, text: string, type = "application/json"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
