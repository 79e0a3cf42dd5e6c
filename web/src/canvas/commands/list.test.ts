import { describe, expect, it } from "vitest";
import locale from "../editor-locale";
import { commandFor, commands, nodeKeys } from "./list";

const held = { ctrlKey: false, metaKey: false, shiftKey: false, altKey: false };
const press = (key: string, more: Partial<typeof held> = {}, letters = true) =>
  commandFor({ key, ...held, ...more }, letters)?.name;

describe("commandFor", () => {
  it("tells Run from Queue, Undo from Redo and Group from Ungroup by Shift", () => {
    expect(press("Enter", { ctrlKey: true })).toBe("run");
    expect(press("Enter", { ctrlKey: true, shiftKey: true })).toBe("queue");
    expect(press("z", { ctrlKey: true })).toBe("undo");
    expect(press("Z", { ctrlKey: true, shiftKey: true })).toBe("redo");
    expect(press("z", { metaKey: true })).toBe("undo");
    expect(press("g", { ctrlKey: true })).toBe("group");
    expect(press("G", { ctrlKey: true, shiftKey: true })).toBe("ungroup");
  });

  it("leaves the browser's and unknown keys alone", () => {
    expect(press("l", { ctrlKey: true })).toBeUndefined();
    expect(press("1", { altKey: true })).toBeUndefined();
    expect(press("q")).toBeUndefined();
    expect(press("Enter")).toBeUndefined();
  });

  it("leaves the clipboard's keys to the browser, which tells of them by its own events", () => {
    for (const key of ["x", "c", "v"]) expect(press(key, { ctrlKey: true })).toBeUndefined();
  });

  it("finds characters that some keyboards type with Shift", () => {
    expect(press("/", { shiftKey: true })).toBe("add");
    expect(press("?", { shiftKey: true })).toBe("keys");
    expect(press("+", { shiftKey: true })).toBe("zoomIn");
  });

  it("leaves single characters alone when they are switched off, and no others", () => {
    expect(press("l", {}, false)).toBeUndefined();
    expect(press("/", {}, false)).toBeUndefined();
    expect(press("k", { ctrlKey: true }, false)).toBe("palette");
    expect(press("F2", {}, false)).toBe("rename");
    expect(press("Escape", {}, false)).toBe("up");
  });
});

describe("commands", () => {
  it("have names in both languages, and each key means one thing", () => {
    const seen = new Set<string>();
    for (const { name, keys } of commands) {
      expect(locale.en.command[name]).toBeTruthy();
      expect(locale["zh-Hant"].command[name]).toBeTruthy();
      for (const one of keys) {
        const id = `${one.ctrl ?? false} ${one.shift ?? false} ${one.key}`;
        expect(seen.has(id), id).toBe(false);
        seen.add(id);
      }
    }
    for (const { name } of nodeKeys) expect(locale.en.command[name]).toBeTruthy();
  });
});
