// Short notices over the canvas. What needs something done stays until it is dismissed, the rest goes after some seconds.
import { createStore } from "zustand/vanilla";

export interface NoticeAction {
  /** A key of the words, with its feature: `drafts:reopen`. */
  label: string;
  run: () => void;
}

export interface NewNotice {
  tone: "bad" | "warn" | "live";
  /** A key of the words, with its feature. */
  text: string;
  /** Said after it, less loud; a key or, as `said`, a sentence. */
  detail?: string;
  said?: string;
  params?: Readonly<Record<string, unknown>>;
  /** Unix seconds, for a `{{time}}` in the text. */
  time?: number;
  action?: NoticeAction;
  /** Whether it stays until it is dismissed; by default what is not `live`. */
  stays?: boolean;
}

export interface ShownNotice extends NewNotice {
  id: number;
}

export const NOTICE_MS = 6_000;
const MOST = 4;

interface Notices {
  list: readonly ShownNotice[];
}

const store = createStore<Notices>(() => ({ list: [] }));
let last = 0;

export const notices = {
  store,
  show(notice: NewNotice): number {
    last += 1;
    const id = last;
    const same = (other: ShownNotice) => other.text === notice.text && other.said === notice.said;
    store.setState(({ list }) => ({
      list: [...list.filter((other) => !same(other)), { ...notice, id }].slice(-MOST),
    }));
    return id;
  },
  dismiss(id: number): void {
    store.setState(({ list }) => ({ list: list.filter((notice) => notice.id !== id) }));
  },
};

export function stays(notice: NewNotice): boolean {
  return notice.stays ?? notice.tone !== "live";
}
