import { describe, expect, it } from "vitest";
import type { GraphDocument, GraphNode } from "../canvas/model/document";
import { graph, node } from "../canvas/model/testing";
import { changesBetween, differenceOf } from "./difference";
import { same } from "./same";

const base = graph([node("a", "Data"), node("b", "Linear")], ["a.out->b.in"]);

const change = (doc: GraphDocument, id: string, edit: (node: GraphNode) => GraphNode): GraphDocument => ({
  ...doc,
  nodes: doc.nodes.map((one) => (one.id === id ? edit(one) : one)),
});
const said = (before: GraphDocument, after: GraphDocument) =>
  changesBetween(before, after).map(({ kind, scope, node: id, name }) => [kind, scope, id, name]);

describe("changesBetween", () => {
  it("finds nothing where nothing is", () => {
    expect(changesBetween(base, structuredClone(base) as GraphDocument)).toEqual([]);
    expect(
      changesBetween(base, { ...base, presets: {}, settings: {}, viewport: { x: 5 } } as GraphDocument),
    ).toEqual([]);
  });

  it("tells nodes, wires, parameters, names and places apart", () => {
    const added = { ...base, nodes: [...base.nodes, node("c", "ReLU")] };
    expect(said(base, added)).toEqual([["nodeAdded", null, "c", "c"]]);
    expect(said(added, base)).toEqual([["nodeRemoved", null, "c", "c"]]);
    const edited = change(base, "b", (one) => ({
      ...one,
      position: { x: one.position.x + 40, y: one.position.y },
      data: { ...one.data, label: "Head", params: { out: 10 } },
    }));
    expect(said(base, edited)).toEqual([
      ["label", null, "b", "label"],
      ["param", null, "b", "out"],
      ["moved", null, "b", "position"],
    ]);
    expect(said(base, { ...base, edges: [] })).toEqual([["wireRemoved", null, "b", "in"]]);
    expect(said({ ...base, edges: [] }, base)).toEqual([["wireAdded", null, "b", "in"]]);
  });

  it("does not tell of a wire that went with its node", () => {
    const gone = { ...base, nodes: base.nodes.filter((one) => one.id !== "a"), edges: [] };
    expect(said(base, gone)).toEqual([["nodeRemoved", null, "a", "a"]]);
  });

  it("looks into groups and at settings", () => {
    const inner = { nodes: [node("conv", "Conv2d")], edges: [] };
    const before = { ...base, subgraphs: { net: inner } };
    const changed = {
      ...inner,
      nodes: [{ ...node("conv", "Conv2d"), data: { params: { out_channels: 32 } } }],
    };
    expect(said(before, { ...base, subgraphs: { net: changed } })).toEqual([
      ["param", "net", "conv", "out_channels"],
    ]);
    expect(said(before, base)).toEqual([["groupRemoved", "net", null, "net"]]);
    expect(said(base, { ...base, settings: { seed: 7 } })).toEqual([["setting", null, null, "seed"]]);
  });
});

describe("differenceOf", () => {
  it("says who did what, and how many nodes differ", () => {
    const mine = change(base, "b", (one) => ({ ...one, data: { ...one.data, params: { out: 10 } } }));
    const theirs = { ...base, nodes: [...base.nodes, node("c", "ReLU")] };
    const found = differenceOf(base, mine, theirs);
    expect(found.mine.map(({ kind }) => kind)).toEqual(["param"]);
    expect(found.theirs.map(({ kind }) => kind)).toEqual(["nodeAdded"]);
    expect(found.nodes).toBe(2);
    expect(differenceOf(null, mine, theirs)).toMatchObject({ mine: [], theirs: [], nodes: 2 });
  });
});

describe("same", () => {
  it("does not mind the order of keys, rounded places and parts that hold nothing", () => {
    expect(same({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 })).toBe(true);
    expect(same({ position: { x: 10.4, y: 2 } }, { position: { x: 10, y: 2 } })).toBe(true);
    expect(same({ position: { x: 12, y: 2 } }, { position: { x: 10, y: 2 } })).toBe(false);
    expect(same({ settings: {}, description: "" }, {})).toBe(true);
    expect(same({ a: null }, {})).toBe(false);
    expect(same([1, 2], [2, 1])).toBe(false);
  });
});
