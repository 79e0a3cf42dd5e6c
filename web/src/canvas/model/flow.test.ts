import { describe, expect, it } from "vitest";
import { apply } from "./commands";
import { type FlowNode, type GraphFlowNode, isNoteNode, toFlowNodes as toAll, toFlowEdges } from "./flow";
import { graph, node } from "./testing";

const doc = graph([node("a", "Data"), node("b", "Split"), node("c", "Print")], ["a.dataset->b.dataset"]);

const toFlowNodes = (level: Parameters<typeof toAll>[0], before: readonly FlowNode[]): GraphFlowNode[] =>
  toAll(level, before)
    .filter((one) => !isNoteNode(one))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

describe("toFlowNodes", () => {
  it("keeps the objects of nodes that did not change, with their measures", () => {
    const first = toFlowNodes(doc, []).map((one) => ({ ...one, measured: { width: 10, height: 20 } }));
    const after = apply(doc, { do: "param", scope: null, node: "b", name: "x", value: 1 });
    const second = toFlowNodes(after, first);
    expect(second[0]).toBe(first[0]);
    expect(second[2]).toBe(first[2]);
    expect(second[1]).not.toBe(first[1]);
    expect(second[1]?.measured).toEqual({ width: 10, height: 20 });
    expect(second[1]?.data.node.data.params).toEqual({ x: 1 });
  });

  it("tells a node which of its ports are wired", () => {
    const nodes = toFlowNodes(doc, []);
    expect([...(nodes[0]?.data.wired ?? [])]).toEqual([">dataset"]);
    expect([...(nodes[1]?.data.wired ?? [])]).toEqual(["<dataset"]);
    const cut = apply(doc, { do: "remove", scope: null, nodes: [], edges: ["a.dataset->b.dataset"] });
    expect(toFlowNodes(cut, nodes)[0]?.data.wired.size).toBe(0);
  });
});

describe("the order in which nodes are drawn", () => {
  it("is that in which data goes through them, behind notes and frames", () => {
    const note = { id: "n", kind: "note", text: "", position: { x: 0, y: 0 }, size: { width: 9, height: 9 } };
    const backwards = graph(
      [node("last", "Print"), node("mid", "Split"), node("first", "Data")],
      ["first.dataset->mid.dataset", "mid.train->last.value"],
      { notes: [note, "no note"] },
    );
    expect(toAll(backwards, []).map((one) => one.id)).toEqual(["n", "first", "mid", "last"]);
  });
});

describe("toFlowEdges", () => {
  it("keeps the objects of wires that are still there", () => {
    const first = toFlowEdges(doc, []);
    const more = apply(doc, {
      do: "connect",
      scope: null,
      edge: { source: "b", sourceHandle: "train", target: "c", targetHandle: "value" },
    });
    const second = toFlowEdges(more, first);
    expect(second[0]).toBe(first[0]);
    expect(second[1]).toMatchObject({ id: "b.train->c.value", sourceHandle: "train", targetHandle: "value" });
  });
});
