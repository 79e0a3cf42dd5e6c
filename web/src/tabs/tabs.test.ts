import { describe, expect, it } from "vitest";
import { renamed, withAt, without } from "./tabs";

const open = { tabs: ["a", "b", "c"], last: "b" };

describe("tabs", () => {
  it("closed: what stood behind it comes to the front, else what stood before it", () => {
    expect(without(open, "b")).toEqual({ tabs: ["a", "c"], last: "c" });
    expect(without({ ...open, last: "c" }, "c")).toEqual({ tabs: ["a", "b"], last: "b" });
    expect(without(open, "a")).toEqual({ tabs: ["b", "c"], last: "b" });
    expect(without({ tabs: ["a"], last: "a" }, "a")).toEqual({ tabs: [], last: null });
  });

  it("opened again where it stood, and moved within the bar", () => {
    expect(withAt(without(open, "b"), "b", 1).tabs).toEqual(["a", "b", "c"]);
    expect(withAt(open, "c", 0).tabs).toEqual(["c", "a", "b"]);
    expect(withAt(open, "a", 99).tabs).toEqual(["b", "c", "a"]);
  });

  it("renamed at their place", () => {
    expect(renamed(open, "b", "digits")).toEqual({ tabs: ["a", "digits", "c"], last: "digits" });
    expect(renamed(open, "a", "c").tabs).toEqual(["c", "b"]);
  });
});
