// The canvas' keys as data: what is listed is what works.

export type ShortcutName =
  | "add"
  | "library"
  | "run"
  | "queue"
  | "undo"
  | "redo"
  | "duplicate"
  | "selectAll"
  | "delete"
  | "fit"
  | "dock"
  | "panel"
  | "up"
  | "all";

export interface Shortcut {
  name: ShortcutName;
  key: string;
  ctrl?: boolean;
  shift?: boolean;
  /** As people read it. */
  shown: string;
}

export const shortcuts: readonly Shortcut[] = [
  { name: "add", key: "/", shown: "/" },
  { name: "library", key: "l", shown: "L" },
  { name: "run", key: "enter", ctrl: true, shown: "Ctrl ↵" },
  { name: "queue", key: "enter", ctrl: true, shift: true, shown: "Ctrl Shift ↵" },
  { name: "undo", key: "z", ctrl: true, shown: "Ctrl Z" },
  { name: "redo", key: "z", ctrl: true, shift: true, shown: "Ctrl Shift Z" },
  { name: "redo", key: "y", ctrl: true, shown: "Ctrl Y" },
  { name: "duplicate", key: "d", ctrl: true, shown: "Ctrl D" },
  { name: "selectAll", key: "a", ctrl: true, shown: "Ctrl A" },
  { name: "delete", key: "delete", shown: "Del" },
  { name: "delete", key: "backspace", shown: "⌫" },
  { name: "fit", key: "1", shown: "1" },
  { name: "dock", key: "j", shown: "J" },
  { name: "panel", key: "p", shown: "P" },
  { name: "up", key: "escape", shown: "Esc" },
  { name: "all", key: "?", shown: "?" },
];

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** The shortcut that a key event stands for. */
export function shortcutOf(event: Pressed): Shortcut | undefined {
  if (event.altKey) return undefined;
  const key = event.key.toLowerCase();
  const ctrl = event.ctrlKey || event.metaKey;
  return shortcuts.find(
    (shortcut) =>
      shortcut.key === key &&
      (shortcut.ctrl ?? false) === ctrl &&
      // Characters such as ? and / may need Shift to be typed.
      (!/^[a-z0-9]$|^.{2,}$/.test(key) || (shortcut.shift ?? false) === event.shiftKey),
  );
}
