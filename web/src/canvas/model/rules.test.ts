import { describe, expect, it } from "vitest";
import { changedSince } from "./changed";
import { inOrder, neededBy, refuses } from "./connect";
import { entriesOf } from "./entries";
import { layersOf } from "./layers";
import { search } from "./search";
import { catalog, graph, node, wire } from "./testing";
import { tidy } from "./tidy";
import { typesOf } from "./types";

const doc = graph(
  [
    node("data", "Data"),
    node("split", "Split"),
    node("net", "Net"),
    node("train", "Train"),
    node("print", "Print"),
  ],
  ["data.dataset->split.dataset", "split.train->train.data", "net.model->train.model"],
);

const types = typesOf(doc, catalog);

describe("neededBy", () => {
  it("is the node with all before it, and nothing behind or beside it", () => {
    expect([...neededBy(doc, "split")].sort()).toEqual(["data", "split"]);
    expect([...neededBy(doc, "train")].sort()).toEqual(["data", "net", "split", "train"]);
  });
});

describe("refuses", () => {
  it.each(["split.test->train.data", "train.model->print.value", "net.model->print.value"])(
    "allows %s",
    (text) => {
      expect(refuses(doc, types, wire(text))).toBeNull();
    },
  );

  it("names both types of a wire between ports that do not fit", () => {
    expect(refuses(doc, types, wire("net.model->split.dataset"))).toEqual({
      reason: "wrongType",
      params: { title: "Split", port: "dataset", takes: "dataset", gives: "model" },
    });
  });

  it.each([
    ["train.model->train.model", "sameNode"],
    ["data.nothing->split.dataset", "unknownPort"],
    ["gone.x->split.dataset", "unknownPort"],
  ])("refuses %s: %s", (text, reason) => {
    expect(refuses(doc, types, wire(text))?.reason).toBe(reason);
  });

  it("refuses a wire that would close a circle", () => {
    const chain = graph(
      [node("a", "BatchNorm2d"), node("b", "BatchNorm2d"), node("c", "BatchNorm2d")],
      ["a.y->b.x", "b.y->c.x"],
    );
    expect(refuses(chain, types, wire("c.y->a.x"))?.reason).toBe("cycle");
  });
});

describe("inOrder", () => {
  it("puts each node behind those that it needs, and those of a circle last", () => {
    expect(inOrder(doc)).toEqual(["data", "net", "print", "split", "train"]);
    const circle = graph([node("a", "X"), node("b", "X"), node("c", "X")], ["a.o->b.i", "b.o->a.i"]);
    expect(inOrder(circle)).toEqual(["c", "a", "b"]);
  });
});

describe("changedSince", () => {
  it("finds a changed parameter and all that depends on it, but not what stands before it", () => {
    const now = {
      ...doc,
      nodes: doc.nodes.map((one) =>
        one.id === "split" ? node("split", "Split", { test_fraction: 0.5 }) : one,
      ),
    };
    expect([...changedSince(doc, now)].sort()).toEqual(["split", "train"]);
  });

  it("does not mind where nodes stand, what they are called or the order of keys", () => {
    const before = graph([node("a", "Split", { x: 1, y: 2 })]);
    const moved = graph([
      { ...node("a", "Split"), position: { x: 50, y: 50 }, data: { params: { y: 2, x: 1 }, label: "other" } },
    ]);
    expect(changedSince(before, moved).size).toBe(0);
  });

  it("looks inside modules", () => {
    const inside = (units: number) =>
      graph([node("net", "Net", { subgraph: "s" })], [], {
        subgraphs: { s: { nodes: [node("lin", "Linear", { units })], edges: [] } },
      });
    expect([...changedSince(inside(3), inside(4))]).toEqual(["net"]);
    expect(changedSince(inside(3), inside(3)).size).toBe(0);
  });

  it("counts a new wire as a change of its target", () => {
    const fewer = { ...doc, edges: doc.edges.slice(0, 2) };
    expect([...changedSince(fewer, doc)]).toEqual(["train"]);
  });
});

describe("layersOf", () => {
  it("lists layers as data goes through them, without the module's ends", () => {
    const module = graph([node("net", "Net")], [], {
      subgraphs: {
        s: {
          nodes: [
            node("out", "ModuleOutput"),
            node("relu", "ReLU"),
            node("lin", "Linear"),
            node("in", "ModuleInput"),
          ],
          edges: ["in.x->lin.x", "lin.y->relu.x", "relu.y->out.x"].map(wire),
        },
      },
    });
    expect(layersOf(module, "s").map((layer) => layer.id)).toEqual(["lin", "relu"]);
    expect(layersOf(module, "gone")).toEqual([]);
  });
});

describe("search", () => {
  const entries = entriesOf(doc, null, catalog);
  const titles = (query: string, wireInHand: Parameters<typeof search>[2] = null, inside = false) =>
    search(entries, query, wireInHand, inside).fitting.map((found) => found.definition.title);

  it("offers only layers inside modules, and everything outside, where layers work on tensors", () => {
    expect(titles("", null, true)).toEqual(["Batch norm 2d"]);
    expect(titles("")).toContain("Batch norm 2d");
    expect(titles("")).toContain("Training loop");
  });

  it("finds by beginning, by letters in order and by what the summary says", () => {
    expect(titles("train")[0]).toBe("Training loop");
    expect(titles("bn2", null, true)).toEqual(["Batch norm 2d"]);
    expect(titles("a model on")).toEqual(["Training loop"]);
    expect(titles("zzz")).toEqual([]);
  });

  it("splits types into those that a wire in hand fits, with the port, and the others", () => {
    const hand = { node: "net", port: "model", type: "model", end: "source" } as const;
    const { fitting, others } = search(entries, "", hand, false);
    expect(fitting.map((found) => [found.definition.type, found.ports[0]])).toEqual([
      ["Train", "model"],
      ["Print", "value"],
    ]);
    expect(others.map((found) => found.definition.type)).toEqual(["Data", "Split", "Net", "BatchNorm2d"]);
  });

  it("looks for outputs when the wire's free end is its source", () => {
    const hand = { node: "train", port: "data", type: "dataset", end: "target" } as const;
    expect(titles("", hand)).toEqual(["Built-in data", "Split"]);
  });
});

describe("tidy", () => {
  it("puts every node to the right of what it needs and lets none overlap", () => {
    const size = { width: 200, height: 100 };
    const at = tidy(doc, new Map(doc.nodes.map((one) => [one.id, size])));
    for (const edge of doc.edges) {
      expect(at[edge.target]?.x).toBeGreaterThanOrEqual((at[edge.source]?.x ?? 0) + size.width);
    }
    const places = Object.values(at);
    for (const [index, one] of places.entries()) {
      for (const other of places.slice(index + 1)) {
        const apart = Math.abs(one.x - other.x) >= size.width || Math.abs(one.y - other.y) >= size.height;
        expect(apart).toBe(true);
      }
    }
  });
});
