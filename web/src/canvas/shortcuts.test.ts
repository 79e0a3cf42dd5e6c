import { describe, expect, it } from "vitest";
import locale from "./locale";
import { shortcutOf, shortcuts } from "./shortcuts";

const press = (
  key: string,
  held: Partial<Record<"ctrlKey" | "metaKey" | "shiftKey" | "altKey", boolean>> = {},
) => shortcutOf({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...held })?.name;

describe("shortcutOf", () => {
  it("tells Run from Queue and Undo from Redo by Shift", () => {
    expect(press("Enter", { ctrlKey: true })).toBe("run");
    expect(press("Enter", { ctrlKey: true, shiftKey: true })).toBe("queue");
    expect(press("z", { ctrlKey: true })).toBe("undo");
    expect(press("Z", { ctrlKey: true, shiftKey: true })).toBe("redo");
    expect(press("z", { metaKey: true })).toBe("undo");
  });

  it("leaves the browser's and unknown keys alone", () => {
    expect(press("l", { ctrlKey: true })).toBeUndefined();
    expect(press("1", { altKey: true })).toBeUndefined();
    expect(press("q")).toBeUndefined();
    expect(press("Enter")).toBeUndefined();
  });

  it("finds characters that some keyboards type with Shift", () => {
    expect(press("/", { shiftKey: true })).toBe("add");
    expect(press("?", { shiftKey: true })).toBe("all");
  });

  it("has words in both languages for every shortcut", () => {
    for (const { name } of shortcuts) {
      expect(locale.en.keys[name]).toBeTruthy();
      expect(locale["zh-Hant"].keys[name]).toBeTruthy();
    }
  });
});
