// A WebSocket for tests: it keeps what was sent and says what the test tells it to say.
import { ExecutionSocket, type SocketLike, type Timers } from "../api/socket";

export class FakeSocket implements SocketLike {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];
  closed = false;

  send(text: string): void {
    if (this.closed) throw new Error("sent on a closed socket");
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.closed = true;
  }

  open(): void {
    this.onopen?.();
  }

  say(message: unknown): void {
    this.onmessage?.({ data: typeof message === "string" ? message : JSON.stringify(message) });
  }

  /** The connection breaks. */
  break(): void {
    this.closed = true;
    this.onclose?.();
  }

  /** Messages of one type, oldest first. */
  of(type: string): Record<string, unknown>[] {
    return this.sent.filter((message) => message.type === type);
  }
}

/** Timers that pass when the test says so. */
export class FakeTimers implements Timers {
  now = 0;
  #next = 1;
  readonly #waiting = new Map<number, { at: number; callback: () => void }>();

  set(callback: () => void, ms: number): number {
    const id = this.#next++;
    this.#waiting.set(id, { at: this.now + ms, callback });
    return id;
  }

  clear(id: number): void {
    this.#waiting.delete(id);
  }

  get count(): number {
    return this.#waiting.size;
  }

  pass(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const due = [...this.#waiting]
        .filter(([, timer]) => timer.at <= until)
        .sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      this.#waiting.delete(due[0]);
      this.now = due[1].at;
      due[1].callback();
    }
    this.now = until;
  }
}

export interface Line {
  socket: ExecutionSocket;
  timers: FakeTimers;
  /** Every connection so far. */
  tries: FakeSocket[];
  /** The latest connection. */
  last: () => FakeSocket;
}

export function fakeLine(): Line {
  const tries: FakeSocket[] = [];
  const timers = new FakeTimers();
  const socket = new ExecutionSocket({
    open: () => {
      const made = new FakeSocket();
      tries.push(made);
      return made;
    },
    timers,
    random: () => 1,
  });
  return { socket, timers, tries, last: () => tries.at(-1) as FakeSocket };
}
