import { useSyncExternalStore } from "react";

export const THEMES = ["light", "dark", "system"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "codefy.theme";
const listeners = new Set<() => void>();
const systemDark = matchMedia("(prefers-color-scheme: dark)");

let chosen: Theme = read();

function read(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

function shown(): "light" | "dark" {
  if (chosen !== "system") return chosen;
  return systemDark.matches ? "dark" : "light";
}

function apply(): void {
  document.documentElement.dataset.theme = shown();
  for (const listener of listeners) listener();
}

systemDark.addEventListener("change", apply);

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be blocked; the choice then lasts until the page is left.
  }
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The chosen theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => chosen);
}

/** What is on the screen, for drawings that cannot use CSS variables (charts). */
export function useShownTheme(): "light" | "dark" {
  return useSyncExternalStore(subscribe, shown);
}
