import { describe, expect, it } from "vitest";
import { apply } from "./commands";
import { toFlowEdges, toFlowNodes } from "./flow";
import { graph, node } from "./testing";

const doc = graph([node("a", "Data"), node("b", "Split"), node("c", "Print")], ["a.dataset->b.dataset"]);

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
