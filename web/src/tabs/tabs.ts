// The graphs that are open side by side, as the top bar shows them.
import { useView } from "../canvas/store/view";

export interface Tabs {
  tabs: readonly string[];
  last: string | null;
}

/** Without `name`; in front comes what stood beside it. */
export function without({ tabs, last }: Tabs, name: string): Tabs {
  const at = tabs.indexOf(name);
  const left = tabs.filter((tab) => tab !== name);
  return { tabs: left, last: last === name ? (left[Math.min(at, left.length - 1)] ?? null) : last };
}

/** With `name` at a place, where it may stand already. */
export function withAt({ tabs, last }: Tabs, name: string, at: number): Tabs {
  const others = tabs.filter((tab) => tab !== name);
  const place = Math.max(0, Math.min(at, others.length));
  return { tabs: [...others.slice(0, place), name, ...others.slice(place)], last };
}

/** Under another name at the same place. */
export function renamed({ tabs, last }: Tabs, name: string, to: string): Tabs {
  const rest = tabs.filter((tab) => tab !== to);
  return { tabs: rest.map((tab) => (tab === name ? to : tab)), last: last === name ? to : last };
}

export function moveTab(name: string, at: number): void {
  useView.getState().set(withAt(useView.getState(), name, at));
}

export function renameTab(name: string, to: string): void {
  useView.getState().set(renamed(useView.getState(), name, to));
}

/** Takes a tab away; the answer is where it stood. */
export function takeTab(name: string): number {
  const at = useView.getState().tabs.indexOf(name);
  useView.getState().set(without(useView.getState(), name));
  return at;
}
