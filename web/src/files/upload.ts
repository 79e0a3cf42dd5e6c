// Sending a file in parts. What is there already is not sent again: after a lost connection it goes on where it was.
import { ApiProblem, api, type FileEntry } from "../api";

export const PART_BYTES = 4 * 1024 * 1024;
const TRIES = 6;
const FIRST_WAIT_MS = 500;

export interface UploadOptions {
  ifExists?: "refuse" | "replace" | "number";
  signal?: AbortSignal;
  onProgress?: (sent: number, total: number) => void;
}

/** What tells one upload from another, so that the same file goes on and a changed one begins anew. */
export function uploadName(file: File): string {
  return encodeURIComponent(`${file.name} ${file.size} ${file.lastModified}`).slice(0, 150);
}

/** Rejects with an ApiProblem, or an AbortError. */
export async function uploadFile(file: File, path: string, options: UploadOptions = {}): Promise<FileEntry> {
  const { signal, onProgress } = options;
  const upload = uploadName(file);
  let start = 0;
  let failures = 0;
  for (;;) {
    try {
      const bytes = file.slice(start, start + PART_BYTES);
      const part = { bytes, start, total: file.size, upload, ifExists: options.ifExists ?? "refuse" };
      const answer = await api.uploadPart(path, part, signal);
      failures = 0;
      onProgress?.(answer.received, file.size);
      if (answer.file !== null) return answer.file;
      start = answer.received;
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      const here = error.code === "upload_offset" ? Number(error.params.offset) : Number.NaN;
      failures += 1;
      if (Number.isInteger(here) && here < file.size && failures < TRIES) {
        start = here;
        onProgress?.(start, file.size);
      } else if (error.status === 0 && failures < TRIES) {
        await pause(FIRST_WAIT_MS * 2 ** (failures - 1), signal);
      } else {
        throw error;
      }
    }
  }
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
