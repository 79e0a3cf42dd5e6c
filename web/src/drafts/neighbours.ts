// Other tabs of this browser: who else has a graph open, and that one of them saved it.

export interface Channel {
  post(message: Message): void;
  listen(listener: (message: Message) => void): void;
}

export type Message =
  | { kind: "hello" | "here" | "bye"; tab: string; name: string }
  | { kind: "saved"; tab: string; name: string; revision: number };

interface Watcher {
  /** Another tab saved it. */
  onSaved: (revision: number) => void;
  /** So many other tabs have it open. */
  onOthers: (count: number) => void;
  others: Set<string>;
}

const PATIENCE_MS = 150;

export class Neighbours {
  readonly #channel: Channel;
  readonly #watchers = new Map<string, Watcher>();
  readonly #asking = new Map<string, Set<string>>();
  tab: string;

  constructor(channel: Channel, tab: string) {
    this.#channel = channel;
    this.tab = tab;
    channel.listen((message) => this.#hear(message));
  }

  /** Says that `name` is open here, and listens, until the answer is called. */
  open(name: string, watcher: Omit<Watcher, "others">): () => void {
    this.#watchers.set(name, { ...watcher, others: new Set() });
    this.#channel.post({ kind: "hello", tab: this.tab, name });
    return () => {
      this.#watchers.delete(name);
      this.#channel.post({ kind: "bye", tab: this.tab, name });
    };
  }

  saved(name: string, revision: number): void {
    this.#channel.post({ kind: "saved", tab: this.tab, name, revision });
  }

  /** Tabs other than this one that have `name` open now. */
  async alive(name: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    this.#asking.set(name, found);
    this.#channel.post({ kind: "hello", tab: this.tab, name });
    await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
    this.#asking.delete(name);
    return found;
  }

  /** Asks again who is there: a tab that crashed has said no goodbye. */
  refresh(): void {
    for (const [name, watcher] of this.#watchers) {
      if (watcher.others.size === 0) continue;
      watcher.others.clear();
      this.#channel.post({ kind: "hello", tab: this.tab, name });
      setTimeout(() => watcher.onOthers(watcher.others.size), PATIENCE_MS);
    }
  }

  /** The page is being left. */
  leave(): void {
    for (const name of this.#watchers.keys()) this.#channel.post({ kind: "bye", tab: this.tab, name });
  }

  #hear(message: Message): void {
    if (message.tab === this.tab) return;
    const watcher = this.#watchers.get(message.name);
    if (message.kind === "hello" && watcher !== undefined) {
      this.#channel.post({ kind: "here", tab: this.tab, name: message.name });
    }
    if (message.kind === "here") this.#asking.get(message.name)?.add(message.tab);
    if (watcher === undefined) return;
    if (message.kind === "saved") watcher.onSaved(message.revision);
    const before = watcher.others.size;
    if (message.kind === "bye") watcher.others.delete(message.tab);
    else watcher.others.add(message.tab);
    if (watcher.others.size !== before) watcher.onOthers(watcher.others.size);
  }
}

const TAB_KEY = "codefy.tab";

/** This tab's name, the same after a reload. */
function tabName(): string {
  const fresh = Math.random().toString(36).slice(2, 10);
  try {
    // The name is taken out while the page is open and put back when it is left, so that a duplicate finds none.
    const kept = sessionStorage.getItem(TAB_KEY);
    sessionStorage.removeItem(TAB_KEY);
    return kept ?? fresh;
  } catch {
    return fresh;
  }
}

function broadcast(): Channel {
  if (typeof BroadcastChannel === "undefined") return { post: () => {}, listen: () => {} };
  const channel = new BroadcastChannel("codefy.graphs");
  return {
    post: (message) => channel.postMessage(message),
    listen: (listener) => {
      channel.onmessage = (event: MessageEvent<Message>) => listener(event.data);
    },
  };
}

let shared: Neighbours | null = null;

/** One per page. */
export function neighbours(): Neighbours {
  if (shared === null) {
    const made = new Neighbours(broadcast(), tabName());
    shared = made;
    window.addEventListener("pagehide", () => {
      made.leave();
      try {
        sessionStorage.setItem(TAB_KEY, made.tab);
      } catch {
        // Without storage a reload is another tab; its entries are found as those of a tab that is gone.
      }
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") made.refresh();
    });
  }
  return shared;
}
