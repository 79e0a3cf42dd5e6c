import { describe, expect, it } from "vitest";
import { graph, node } from "../canvas/model/testing";
import type { Mirrored } from "./mirror";
import { type Found, isUntitled, startWith, untitledName } from "./start";

const one = graph([node("a", "Data")]);
const two = graph([node("a", "Data"), node("b", "Data")]);
const three = graph([node("c", "Data")]);
const NOTHING: Found = { saved: null, draft: null, example: null, mirrored: null };

const mirrored = (change: Partial<Mirrored>): Mirrored => ({
  name: "x",
  tab: "t",
  doc: two,
  base: one,
  revision: 4,
  shelf: "graph",
  at: 99,
  ...change,
});

describe("startWith", () => {
  it("begins with the file, else the draft, else the example, else nothing", () => {
    const saved = { doc: one, revision: 4 };
    expect(startWith("x", { ...NOTHING, saved })).toMatchObject({ doc: one, revision: 4, shelf: "graph" });
    const draft = { doc: two, revision: 2, graphRevision: 0 };
    expect(startWith("untitled", { ...NOTHING, draft })).toMatchObject({
      doc: two,
      revision: 2,
      shelf: "draft",
    });
    expect(startWith("x", { ...NOTHING, example: three })).toMatchObject({
      doc: three,
      revision: null,
      shelf: "graph",
    });
    expect(startWith("untitled-2", NOTHING)).toMatchObject({
      revision: null,
      shelf: "draft",
      conflict: null,
    });
    expect(startWith("x", NOTHING).doc.nodes).toEqual([]);
  });

  it("goes on with what was not saved", () => {
    const start = startWith("x", { ...NOTHING, saved: { doc: one, revision: 4 }, mirrored: mirrored({}) });
    expect(start).toMatchObject({ doc: two, base: one, revision: 4, conflict: null, restoredFrom: 99 });
    const fresh = mirrored({ base: null, revision: null, shelf: "draft" });
    expect(startWith("untitled", { ...NOTHING, mirrored: fresh })).toMatchObject({
      doc: two,
      base: null,
      restoredFrom: 99,
    });
  });

  it("asks when the file was saved elsewhere meanwhile", () => {
    const start = startWith("x", { ...NOTHING, saved: { doc: three, revision: 6 }, mirrored: mirrored({}) });
    expect(start.doc).toBe(two);
    expect(start.conflict).toEqual({ theirs: three, revision: 6, from: 4, base: one, draft: null });
  });

  it("asks when the graph was deleted elsewhere", () => {
    const start = startWith("x", { ...NOTHING, mirrored: mirrored({}) });
    expect(start.conflict).toMatchObject({ theirs: null, revision: 0 });
  });

  it("does not ask when only the revision counted on, or when both say the same", () => {
    const restarted = startWith("x", {
      ...NOTHING,
      saved: { doc: one, revision: 9 },
      mirrored: mirrored({}),
    });
    expect(restarted).toMatchObject({ doc: two, revision: 9, conflict: null });
    const arrived = startWith("x", { ...NOTHING, saved: { doc: two, revision: 5 }, mirrored: mirrored({}) });
    expect(arrived).toMatchObject({ revision: 5, conflict: null, restoredFrom: null });
  });

  it("finds an undecided draft again", () => {
    const saved = { doc: one, revision: 4 };
    const draft = { doc: two, revision: 2, graphRevision: 3 };
    const start = startWith("x", { ...NOTHING, saved, draft });
    expect(start.doc).toBe(two);
    expect(start.conflict).toEqual({ theirs: one, revision: 4, from: 3, base: null, draft: 2 });
    const settled = startWith("x", { ...NOTHING, saved, draft: { ...draft, doc: one } });
    expect(settled).toMatchObject({ conflict: null, dropDraft: true });
  });
});

describe("names that nobody gave", () => {
  it("are counted", () => {
    expect(untitledName([])).toBe("untitled");
    expect(untitledName(["untitled", "untitled-2", "untitled-4"])).toBe("untitled-3");
    expect(["untitled", "untitled-12", "untitled-", "my untitled"].map(isUntitled)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
