import { describe, expect, it } from "vitest";
import { align, type Box, inside, spread } from "./arrange";
import { bridge } from "./bridge";
import { catalogOf } from "./catalog";
import { apply } from "./commands";
import { copyOf, pasteOf } from "./copying";
import { edgeId, presetScope } from "./document";
import { entriesOf } from "./entries";
import { setInterface } from "./exposing";
import { group, groupable, toPreset, ungroup } from "./group";
import { interfaceOf } from "./interface";
import { targetsOf } from "./targets";
import { catalog, definition, graph, node, param, port, wire } from "./testing";
import { typesOf } from "./types";

const full = catalogOf([
  ...catalog.values(),
  definition("Join", {
    layer: true,
    inputs: [{ ...port("x", "tensor"), repeat: "count" }],
    outputs: [port("y", "tensor")],
    params: [param("count", "int", { default: 2 })],
  }),
  definition("Script", {
    inputs: [{ ...port("values", "any", false), repeat: "names" }],
    outputs: [port("result", "any")],
    params: [param("names", "text", { default: "a, b" })],
  }),
  definition("Subgraph", { layer: true, params: [param("subgraph", "subgraph", { default: "" })] }),
  definition("Preset", { layer: true, params: [param("preset", "preset", { default: "" })] }),
  definition("Submodule", {
    layer: true,
    inputs: [port("x", "tensor"), port("x2", "tensor", false), port("x3", "tensor", false)],
    outputs: [port("y", "tensor"), port("y2", "tensor")],
    params: [param("subgraph", "subgraph", { default: "" })],
  }),
  definition("ToTensor", { inputs: [port("dataset", "dataset")], outputs: [port("x", "tensor")] }),
]);

const doc = graph(
  [node("data", "Data"), node("split", "Split", { test_fraction: 0.3 }), node("train", "Train")],
  ["data.dataset->split.dataset", "split.train->train.data"],
);

describe("typesOf", () => {
  const inputsOf = (one: ReturnType<typeof node>, all = doc) =>
    typesOf(all, full)
      .of(one)
      ?.inputs.map((input) => input.name);

  it("repeats a port as its parameter says, by number or by name", () => {
    expect(inputsOf(node("j", "Join"))).toEqual(["x1", "x2"]);
    expect(inputsOf(node("j", "Join", { count: 3 }))).toEqual(["x1", "x2", "x3"]);
    expect(inputsOf(node("j", "Join", { count: 1e9 }))).toHaveLength(64);
    expect(inputsOf(node("j", "Join", { count: "?" }))).toEqual(["?"]);
    expect(inputsOf(node("s", "Script"))).toEqual(["a", "b"]);
    expect(inputsOf(node("s", "Script", { names: "p, q,, p" }))).toEqual(["p", "q"]);
  });

  it("gives a Submodule as many ports as its inside has ends", () => {
    const all = graph([], [], {
      subgraphs: { block: { nodes: [node("i", "ModuleInput"), node("k", "ModuleInput")], edges: [] } },
    });
    expect(inputsOf(node("s", "Submodule", { subgraph: "block" }), all)).toEqual(["x", "x2"]);
  });

  it("does not hang on a preset that holds itself", () => {
    const all = graph([], [], {
      presets: {
        loop: {
          nodes: [node("again", "Preset", { preset: "loop" })],
          edges: [],
          inputs: [{ name: "x", node: "again", port: "x" }],
        },
      },
    });
    expect(inputsOf(node("p", "Preset", { preset: "loop" }), all)).toEqual(["x"]);
  });
});

describe("group", () => {
  const types = typesOf(doc, full);
  const made = group(doc, null, types, ["split"], "group");
  const grouped = apply(doc, made.command);

  it("puts nodes inside and keeps every wire", () => {
    expect(grouped.nodes.map((one) => one.type)).toEqual(["Data", "Train", "Subgraph"]);
    expect(grouped.edges.map(edgeId)).toEqual(["data.dataset->group.dataset", "group.train->train.data"]);
    expect(interfaceOf(grouped.subgraphs?.group ?? doc)).toEqual({
      inputs: [{ name: "dataset", node: "split", port: "dataset" }],
      // What nothing took may be wanted later.
      outputs: [
        { name: "train", node: "split", port: "train" },
        { name: "test", node: "split", port: "test" },
      ],
      params: [],
    });
    const shown = typesOf(grouped, full).of(grouped.nodes[2] as never);
    expect(shown?.inputs.map((one) => [one.name, one.type])).toEqual([["dataset", "dataset"]]);
  });

  it("is taken apart again into the same graph", () => {
    const freed = ungroup(grouped, null, "group");
    const after = apply(grouped, freed?.command as never);
    expect(after.nodes.map((one) => [one.id, one.data.params])).toEqual([
      ["data", {}],
      ["train", {}],
      ["split", { test_fraction: 0.3 }],
    ]);
    expect(new Set(after.edges.map(edgeId))).toEqual(new Set(doc.edges.map(edgeId)));
    expect(after.subgraphs).toBeUndefined();
  });

  it("feeds several inner inputs of one source by one input", () => {
    const twice = graph(
      [node("data", "Data"), node("a", "Split"), node("b", "Split")],
      ["data.dataset->a.dataset", "data.dataset->b.dataset"],
    );
    const both = apply(twice, group(twice, null, typesOf(twice, full), ["a", "b"], "g").command);
    expect(both.edges.map(edgeId)).toEqual(["data.dataset->g.dataset"]);
    expect(interfaceOf(both.subgraphs?.g ?? twice).inputs).toHaveLength(2);
  });

  it("refuses nodes that would close a circle, and a module's ends", () => {
    const chain = graph(
      [node("a", "BatchNorm2d"), node("b", "BatchNorm2d"), node("c", "BatchNorm2d")],
      ["a.y->b.x", "b.y->c.x"],
    );
    expect(groupable(chain, ["a", "c"])).toBe(false);
    expect(groupable(chain, ["a", "b"])).toBe(true);
    expect(groupable(graph([node("i", "ModuleInput")]), ["i"])).toBe(false);
  });

  it("becomes a preset that is used again, with a value of its own", () => {
    const shown = apply(
      grouped,
      setInterface(grouped, "group", {
        ...interfaceOf(grouped.subgraphs?.group ?? doc),
        params: [{ name: "share", node: "split", param: "test_fraction" }],
      }),
    );
    const preset = apply(shown, toPreset(shown, null, "group", "halves")?.command as never);
    expect(preset.nodes.at(-1)).toMatchObject({ type: "Preset", data: { params: { preset: "halves" } } });
    expect(preset.subgraphs).toBeUndefined();
    const entry = entriesOf(preset, null, full)[0];
    expect(entry?.definition).toMatchObject({ title: "halves", category: "presets" });
    expect(entry?.definition.params).toMatchObject([{ name: "share", default: 0.3 }]);
    // It cannot be put into itself.
    expect(entriesOf(preset, presetScope("halves"), full)[0]?.definition.type).not.toBe("Preset");

    const given = apply(preset, { do: "param", scope: null, node: "group", name: "share", value: 0.5 });
    const freed = apply(given, ungroup(given, null, "group")?.command as never);
    expect(freed.nodes.find((one) => one.type === "Split")?.data.params).toEqual({ test_fraction: 0.5 });
    expect(Object.keys(freed.presets ?? {})).toEqual(["halves"]);
  });

  it("follows a new name outside and drops what is not shown any more", () => {
    const { inputs } = interfaceOf(grouped.subgraphs?.group ?? doc);
    const renamed = apply(
      grouped,
      setInterface(grouped, "group", {
        inputs: inputs.map((item) => ({ ...item, name: "source" })),
        outputs: [],
        params: [],
      }),
    );
    expect(renamed.edges.map(edgeId)).toEqual(["data.dataset->group.source"]);
  });
});

describe("copies", () => {
  const module = graph([node("net", "Net", { subgraph: "layers" })], [], {
    subgraphs: { layers: { nodes: [node("a", "BatchNorm2d")], edges: [] } },
  });

  it("have fresh ids, and modules an inside of their own", () => {
    const made = pasteOf(module, null, copyOf(module, null, ["net"]), { x: 5, y: 6 });
    const after = apply(module, made.command);
    expect(after.nodes.map((one) => [one.id, one.data.params.subgraph])).toEqual([
      ["net", "layers"],
      ["net_2", "layers_2"],
    ]);
    expect(after.nodes[1]?.position).toEqual({ x: 5, y: 6 });
    expect(after.subgraphs?.layers_2).toEqual(module.subgraphs?.layers);
  });

  it("take along what another graph does not have, and call it differently when it has another of that name", () => {
    const other = graph([], [], { subgraphs: { layers: { nodes: [node("z", "ReLU")], edges: [] } } });
    const after = apply(other, pasteOf(other, null, copyOf(module, null, ["net"]), { x: 0, y: 0 }).command);
    expect(after.nodes[0]?.data.params.subgraph).toBe("layers_2");
    expect(after.subgraphs?.layers?.nodes[0]?.id).toBe("z");
    expect(after.subgraphs?.layers_2?.nodes[0]?.id).toBe("a");
  });

  it("of a preset's node share the preset", () => {
    const one = graph([node("p", "Preset", { preset: "block" })], [], {
      presets: { block: { nodes: [node("a", "BatchNorm2d")], edges: [] } },
    });
    const after = apply(one, pasteOf(one, null, copyOf(one, null, ["p"]), { x: 0, y: 0 }).command);
    expect(after.nodes.map((each) => each.data.params.preset)).toEqual(["block", "block"]);
    expect(Object.keys(after.presets ?? {})).toEqual(["block"]);
  });
});

describe("arranging", () => {
  const box = (id: string, x: number, y: number, width = 100, height = 50): Box => ({
    id,
    x,
    y,
    width,
    height,
  });
  const boxes = [box("a", 0, 0), box("b", 130, 40, 60), box("c", 400, 10)];

  it("aligns by each side", () => {
    expect(align(boxes, "right")).toMatchObject({ a: { x: 400 }, b: { x: 440 }, c: { x: 400 } });
    expect(align(boxes, "top")).toMatchObject({ a: { y: 0 }, b: { y: 0 }, c: { y: 0 } });
  });

  it("spreads with equal gaps between the outermost", () => {
    expect(spread(boxes, "x")).toMatchObject({ a: { x: 0 }, b: { x: 220 }, c: { x: 400 } });
    expect(spread(boxes.slice(0, 2), "x")).toEqual({});
  });

  it("knows what stands in a frame", () => {
    expect(inside(boxes, { x: -10, y: -10, width: 220, height: 120 })).toEqual(["a", "b"]);
  });
});

describe("help with wires", () => {
  it("offers a node that leads from one type to the other", () => {
    expect(bridge(full, "dataset", "tensor", false)?.entry.id).toBe("ToTensor");
    expect(bridge(full, "optimizer", "dataset", false)).toBeNull();
  });

  it("lists ports that fit first, and why the others do not", () => {
    const types = typesOf(doc, full);
    const targets = targetsOf(doc, types, { node: "data", port: "dataset", type: "dataset", end: "source" });
    expect(targets.map((one) => [one.node.id, one.port.name, one.taken, one.refusal?.reason])).toEqual([
      ["split", "dataset", true, undefined],
      ["train", "data", true, undefined],
      ["train", "model", false, "wrongType"],
    ]);
    expect(wire("a.b->c.d").targetHandle).toBe("d");
  });
});
