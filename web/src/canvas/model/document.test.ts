import { describe, expect, it } from "vitest";
import { emptyDocument, levelOf, NotAGraph, readDocument, withLevel } from "./document";

const file = {
  format_version: 1,
  name: "digits",
  owner: "someone",
  nodes: [
    {
      id: "a",
      type: "Data",
      position: { x: 1, y: 2, z: 3 },
      data: { params: { n: 1 }, label: "A", colour: "red" },
      locked: true,
    },
    { id: "b", type: "audio.Mel" },
  ],
  edges: [{ source: "a", sourceHandle: "out", target: "b", targetHandle: "in", id: "e1", note: "x" }],
  subgraphs: { net: { nodes: [{ id: "x", type: "Linear" }], edges: [], title: "inside" } },
  presets: { one: { anything: true } },
};

describe("readDocument", () => {
  it("keeps every key that it does not know, on every level", () => {
    const doc = readDocument(structuredClone(file));
    expect(doc.owner).toBe("someone");
    expect(doc.presets).toEqual({ one: { anything: true } });
    expect(doc.nodes[0]).toMatchObject({ locked: true, data: { colour: "red", label: "A" } });
    expect(doc.edges[0]).toMatchObject({ id: "e1", note: "x" });
    expect(doc.subgraphs?.net).toMatchObject({ title: "inside" });
  });

  it("fills in what a node may leave out", () => {
    const doc = readDocument(structuredClone(file));
    expect(doc.nodes[1]).toEqual({
      id: "b",
      type: "audio.Mel",
      position: { x: 0, y: 0 },
      data: { params: {} },
    });
  });

  it.each([
    [null, "$"],
    [[], "$"],
    ["text", "$"],
    [{ edges: [] }, "nodes"],
    [{ nodes: [{ id: 3, type: "X" }] }, "nodes[0]"],
    [{ nodes: [], edges: [{ source: "a" }] }, "edges[0]"],
    [{ nodes: [], subgraphs: { net: { nodes: [null] } } }, "subgraphs.net.nodes[0]"],
  ])("says where %j is no graph", (value, at) => {
    expect(() => readDocument(value)).toThrow(NotAGraph);
    try {
      readDocument(value);
    } catch (problem) {
      expect((problem as NotAGraph).at).toBe(at);
    }
  });
});

describe("levels", () => {
  it("reads and changes the inside of a module without touching the rest", () => {
    const doc = readDocument(structuredClone(file));
    const changed = withLevel(doc, "net", { nodes: [] });
    expect(levelOf(changed, "net").nodes).toEqual([]);
    expect(changed.subgraphs?.net).toMatchObject({ title: "inside" });
    expect(changed.nodes).toBe(doc.nodes);
    expect(levelOf(doc, "net").nodes).toHaveLength(1);
  });

  it("answers an empty level for a subgraph that is not there", () => {
    expect(levelOf(emptyDocument("x"), "gone")).toEqual({ nodes: [], edges: [] });
  });
});
