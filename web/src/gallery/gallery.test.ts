import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import home from "../home/locale";
import { inOrder, topicsOf } from "./examples";
import { type KnownType, keyTypes, sketchOf } from "./sketch";

const FOLDER = "../examples";
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.slice(0, -".json".length));

describe("the examples that ship", () => {
  it.each(names)("%s has a topic, and its words in both languages", (name) => {
    expect(topicsOf(name).length).toBeGreaterThan(0);
    for (const words of [home.en, home["zh-Hant"]]) {
      const said = (words.example as Record<string, { title: string; text: string }>)[name];
      expect(said?.title).toBeTruthy();
      expect(said?.text).toBeTruthy();
    }
  });

  it("begin with the one for new users; strangers come last", () => {
    const listed = inOrder([...names, "zz-mine", "aa-mine"].map((name) => ({ name })));
    expect(listed[0]?.name).toBe("digits-cnn");
    expect(listed.slice(-2).map(({ name }) => name)).toEqual(["aa-mine", "zz-mine"]);
  });

  it.each(names)("%s can be drawn in small", (name) => {
    const graph = JSON.parse(readFileSync(`${FOLDER}/${name}.json`, "utf8"));
    const sketch = sketchOf(graph, new Map());
    expect(sketch.nodes).toHaveLength(graph.nodes.length);
    expect(sketch.wires).toHaveLength(graph.edges.length);
    for (const node of sketch.nodes) {
      expect(node.x).toBeGreaterThan(sketch.box.x);
      expect(node.y + node.height).toBeLessThan(sketch.box.y + sketch.box.height);
    }
  });
});

describe("keyTypes", () => {
  it("tell the examples apart", () => {
    const told = names.map((name) =>
      keyTypes(JSON.parse(readFileSync(`${FOLDER}/${name}.json`, "utf8")), 4).join(", "),
    );
    expect(new Set(told).size).toBe(names.length);
    expect(told.every((types) => types !== "")).toBe(true);
  });
});

describe("sketchOf", () => {
  const types = new Map<string, KnownType>([
    ["Data", { title: "Data", icon: "database", outputs: [{ name: "out", type: "dataset" }] }],
  ]);

  it("gives wires the colour of what they carry, and modules their layers", () => {
    const sketch = sketchOf(
      {
        nodes: [
          { id: "a", type: "Data", position: { x: 0, y: 0 } },
          {
            id: "m",
            type: "Module",
            position: { x: 300, y: 0 },
            data: { label: "Net", params: { subgraph: "net" } },
          },
          { id: "lost", type: "Data" },
        ],
        edges: [
          { source: "a", sourceHandle: "out", target: "m", targetHandle: "x" },
          { source: "m", sourceHandle: "y", target: "lost", targetHandle: "x" },
        ],
        subgraphs: { net: { nodes: [{}, {}, {}, {}] } },
      },
      types,
    );
    expect(sketch.nodes.map(({ title, layers }) => [title, layers])).toEqual([
      ["Data", 0],
      ["Net", 2],
    ]);
    expect(sketch.wires.map(({ type }) => type)).toEqual(["dataset"]);
  });

  it.each([undefined, null, 5, {}, { nodes: {}, edges: 3 }])("draws nothing of %j", (graph) => {
    expect(sketchOf(graph, types)).toMatchObject({ nodes: [], wires: [] });
  });
});
