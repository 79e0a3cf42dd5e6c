// A run's console as lines, built from the bytes of the log as they come.

/** Lines beyond this many are forgotten from the start; the whole log can still be downloaded. */
export const MOST_LINES = 100_000;

export interface LogView {
  /** Complete lines, and at the end the one that is still being written. */
  lines: readonly string[];
  /** Lines forgotten at the start. */
  dropped: number;
  /** Bytes read so far. */
  bytes: number;
  version: number;
}

export const EMPTY_LOG: LogView = { lines: [], dropped: 0, bytes: 0, version: 0 };

// Colours and cursor movements of terminals: meant for a terminal, unreadable in a page.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these sequences begin with the escape character
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** What a terminal would show of a line in which a progress bar went back to the start and wrote over itself. */
function overwritten(line: string): string {
  const clean = line.replace(ESCAPES, "").replace(/\r+$/, "");
  const at = clean.lastIndexOf("\r");
  return at < 0 ? clean : clean.slice(at + 1);
}

export class LogBuffer {
  readonly #decoder = new TextDecoder();
  readonly #mostLines: number;
  #lines: string[] = [];
  #open = "";
  #dropped = 0;
  #version = 0;
  #bytes = 0;

  constructor(mostLines: number = MOST_LINES) {
    this.#mostLines = mostLines;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Append the bytes that follow those before. A character may be cut in two by the border. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#bytes += chunk.length;
    const parts = (this.#open + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#open = parts.pop() ?? "";
    for (const part of parts) this.#lines.push(overwritten(part));
    const over = this.#lines.length - this.#mostLines;
    if (over > 0) {
      this.#lines.splice(0, over);
      this.#dropped += over;
    }
    this.#version += 1;
  }

  view(): LogView {
    const lines = this.#open === "" ? this.#lines.slice() : [...this.#lines, overwritten(this.#open)];
    return { lines, dropped: this.#dropped, bytes: this.#bytes, version: this.#version };
  }
}
