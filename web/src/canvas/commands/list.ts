// Everything that the canvas can do, as data: the palette, the list of keys, the menus and the keyboard all read this.
import type { IconName } from "../../ui/Icon";

export type CommandName =
  | "undo"
  | "redo"
  | "cut"
  | "copy"
  | "paste"
  | "duplicate"
  | "delete"
  | "selectAll"
  | "rename"
  | "add"
  | "library"
  | "note"
  | "frame"
  | "wire"
  | "open"
  | "up"
  | "group"
  | "ungroup"
  | "expose"
  | "preset"
  | "bypass"
  | "collapse"
  | "tidy"
  | "snap"
  | "alignLeft"
  | "alignCenter"
  | "alignRight"
  | "alignTop"
  | "alignMiddle"
  | "alignBottom"
  | "spreadAcross"
  | "spreadDown"
  | "fit"
  | "fitSelection"
  | "zoomIn"
  | "zoomOut"
  | "zoomReset"
  | "map"
  | "dock"
  | "panel"
  | "nextRegion"
  | "previousRegion"
  | "palette"
  | "keys"
  | "run"
  | "queue"
  | "stop";

export type CommandGroup = "edit" | "build" | "groups" | "arrange" | "view" | "running";

export interface Shortcut {
  key: string;
  ctrl?: boolean;
  shift?: boolean;
  /** As people read it. */
  shown: string;
}

export interface CanvasCommand {
  name: CommandName;
  group: CommandGroup;
  keys: readonly Shortcut[];
  icon?: IconName;
  /** The browser tells of these keys by an event of its own, which alone may use the clipboard. */
  native?: boolean;
}

const key = (shown: string, name: string, held: Partial<Shortcut> = {}): Shortcut => ({
  key: name,
  shown,
  ...held,
});
const ctrl = (letter: string, name = letter.toLowerCase()): Shortcut =>
  key(`Ctrl ${letter}`, name, { ctrl: true });
const ctrlShift = (letter: string, name = letter.toLowerCase()): Shortcut =>
  key(`Ctrl Shift ${letter}`, name, { ctrl: true, shift: true });

export const commands: readonly CanvasCommand[] = [
  { name: "add", group: "build", keys: [key("/", "/")], icon: "plus" },
  { name: "library", group: "build", keys: [key("L", "l")], icon: "library" },
  { name: "wire", group: "build", keys: [key("W", "w")] },
  { name: "rename", group: "build", keys: [key("F2", "f2")] },
  { name: "note", group: "build", keys: [key("N", "n")], icon: "note" },
  { name: "frame", group: "build", keys: [key("F", "f")], icon: "frame" },
  { name: "bypass", group: "build", keys: [key("B", "b")] },
  { name: "collapse", group: "build", keys: [key("C", "c")] },
  { name: "undo", group: "edit", keys: [ctrl("Z")], icon: "undo" },
  { name: "redo", group: "edit", keys: [ctrlShift("Z"), ctrl("Y")], icon: "redo" },
  { name: "cut", group: "edit", keys: [ctrl("X")], native: true },
  { name: "copy", group: "edit", keys: [ctrl("C")], icon: "copy", native: true },
  { name: "paste", group: "edit", keys: [ctrl("V")], native: true },
  { name: "duplicate", group: "edit", keys: [ctrl("D")] },
  { name: "delete", group: "edit", keys: [key("Del", "delete"), key("⌫", "backspace")], icon: "trash" },
  { name: "selectAll", group: "edit", keys: [ctrl("A")] },
  { name: "open", group: "groups", keys: [], icon: "layers" },
  { name: "up", group: "groups", keys: [key("Esc", "escape")] },
  { name: "group", group: "groups", keys: [ctrl("G")], icon: "layers" },
  { name: "ungroup", group: "groups", keys: [ctrlShift("G")] },
  { name: "expose", group: "groups", keys: [] },
  { name: "preset", group: "groups", keys: [] },
  { name: "tidy", group: "arrange", keys: [], icon: "layout" },
  { name: "snap", group: "arrange", keys: [] },
  { name: "alignLeft", group: "arrange", keys: [], icon: "alignLeft" },
  { name: "alignCenter", group: "arrange", keys: [], icon: "alignCenter" },
  { name: "alignRight", group: "arrange", keys: [], icon: "alignRight" },
  { name: "alignTop", group: "arrange", keys: [], icon: "alignTop" },
  { name: "alignMiddle", group: "arrange", keys: [], icon: "alignMiddle" },
  { name: "alignBottom", group: "arrange", keys: [], icon: "alignBottom" },
  { name: "spreadAcross", group: "arrange", keys: [], icon: "spreadAcross" },
  { name: "spreadDown", group: "arrange", keys: [], icon: "spreadDown" },
  { name: "fit", group: "view", keys: [key("1", "1")], icon: "fit" },
  { name: "fitSelection", group: "view", keys: [key("2", "2")] },
  { name: "zoomIn", group: "view", keys: [key("+", "+")], icon: "plus" },
  { name: "zoomOut", group: "view", keys: [key("−", "-")], icon: "minus" },
  { name: "zoomReset", group: "view", keys: [key("0", "0")] },
  { name: "map", group: "view", keys: [key("M", "m")], icon: "map" },
  { name: "dock", group: "view", keys: [key("J", "j")] },
  { name: "panel", group: "view", keys: [key("P", "p")] },
  { name: "nextRegion", group: "view", keys: [key("F6", "f6")] },
  { name: "previousRegion", group: "view", keys: [key("Shift F6", "f6", { shift: true })] },
  { name: "palette", group: "view", keys: [ctrl("K")], icon: "search" },
  { name: "keys", group: "view", keys: [key("?", "?")], icon: "help" },
  { name: "run", group: "running", keys: [ctrl("↵", "enter")], icon: "play" },
  { name: "queue", group: "running", keys: [ctrlShift("↵", "enter")] },
  { name: "stop", group: "running", keys: [], icon: "stop" },
];

/** Keys that a focused node has by itself, for the list of keys. */
export const nodeKeys = [
  { name: "follow", shown: "← → ↑ ↓" },
  { name: "moveNode", shown: "Alt ← → ↑ ↓" },
  { name: "openNode", shown: "↵" },
  { name: "selectNode", shown: "Space" },
  { name: "selectMore", shown: "Shift Space" },
] as const;

export function commandOf(name: CommandName): CanvasCommand {
  return commands.find((command) => command.name === name) as CanvasCommand;
}

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** Whether a key is one character by itself: those can be switched off. */
export function isLetter(shortcut: Shortcut): boolean {
  return shortcut.key.length === 1 && shortcut.ctrl !== true;
}

/** The command that a key event stands for; `letters` says whether single characters count. */
export function commandFor(event: Pressed, letters = true): CanvasCommand | undefined {
  if (event.altKey) return undefined;
  const pressed = event.key.toLowerCase();
  const held = event.ctrlKey || event.metaKey;
  return commands.find(
    (command) =>
      command.native !== true &&
      command.keys.some(
        (shortcut) =>
          shortcut.key === pressed &&
          (letters || !isLetter(shortcut)) &&
          (shortcut.ctrl ?? false) === held &&
          // Characters such as ? and / may need Shift to be typed.
          (!/^[a-z0-9]$|^.{2,}$/.test(pressed) || (shortcut.shift ?? false) === event.shiftKey),
      ),
  );
}
