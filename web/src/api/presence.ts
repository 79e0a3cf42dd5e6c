// Whether the server answers, and since when it does not: what the page shows must not pretend to be fresh.
import { useSyncExternalStore } from "react";

/** An answer that says that the session token is missing or wrong. */
export interface Locked {
  code: string;
  message: string;
}

export interface Presence {
  /** Unix seconds of the server's last word; `null` as long as it answers. */
  awaySince: number | null;
  /** Why nothing is shown: this browser has no token for the server. */
  locked: Locked | null;
  /** Whether the server has let this page in since it was loaded. */
  admitted: boolean;
}

const LOCKS: ReadonlySet<string> = new Set(["token_required", "token_wrong"]);

let now: Presence = { awaySince: null, locked: null, admitted: false };
/** The page itself came from the server. */
let heardAt = Date.now() / 1000;
const listeners = new Set<() => void>();

function set(change: Partial<Presence>): void {
  const next = { ...now, ...change };
  if (next.awaySince === now.awaySince && next.locked === now.locked && next.admitted === now.admitted)
    return;
  now = next;
  for (const listener of [...listeners]) listener();
}

export const presence = {
  get: (): Presence => now,
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** The server said something, by HTTP or over the socket. */
  heard: (): void => {
    heardAt = Date.now() / 1000;
    if (now.awaySince !== null) set({ awaySince: null });
  },
  /** A request got no answer. */
  unanswered: (): void => {
    if (now.awaySince === null) set({ awaySince: heardAt });
  },
  /** The server answered a request that needs the token. */
  admitted: (): void => set({ locked: null, admitted: true }),
  refused: (problem: Locked): void => {
    if (LOCKS.has(problem.code) && now.locked?.code !== problem.code) {
      set({ locked: { code: problem.code, message: problem.message } });
    }
  },
};

export function usePresence(): Presence {
  return useSyncExternalStore(presence.subscribe, presence.get);
}

/** Unix seconds of the server's last word while it does not answer, else `null`. */
export function useAwaySince(): number | null {
  return useSyncExternalStore(presence.subscribe, () => presence.get().awaySince);
}
