import { describe, expect, it } from "vitest";
import { duplicate } from "./copying";
import { edgeId } from "./document";
import { MOST_STEPS, perform, redo, startHistory, undo } from "./history";
import { freshId } from "./naming";
import { graph, node, wire } from "./testing";

const start = () =>
  graph(
    [node("data", "Data"), node("split", "Split"), node("train", "Train", { epochs: 3 })],
    ["data.dataset->split.dataset", "split.train->train.data"],
  );

describe("commands", () => {
  it("removes a node with its wires", () => {
    const history = perform(startHistory(start()), {
      do: "remove",
      scope: null,
      nodes: ["split"],
      edges: [],
    });
    expect(history.present.nodes.map((one) => one.id)).toEqual(["data", "train"]);
    expect(history.present.edges).toEqual([]);
  });

  it("puts a new wire in the place of the one that an input had", () => {
    const history = perform(startHistory(start()), {
      do: "connect",
      scope: null,
      edge: wire("split.test->train.data"),
    });
    expect(history.present.edges.map(edgeId)).toEqual([
      "data.dataset->split.dataset",
      "split.test->train.data",
    ]);
  });

  it("takes a parameter away when it is put back to its default", () => {
    let history = startHistory(start());
    history = perform(history, { do: "param", scope: null, node: "train", name: "epochs", value: 5 });
    expect(history.present.nodes[2]?.data.params).toEqual({ epochs: 5 });
    history = perform(history, { do: "param", scope: null, node: "train", name: "epochs", value: undefined });
    expect(history.present.nodes[2]?.data.params).toEqual({});
  });

  it("drops an empty label", () => {
    let history = perform(startHistory(start()), { do: "label", scope: null, node: "data", label: "Digits" });
    expect(history.present.nodes[0]?.data.label).toBe("Digits");
    history = perform(history, { do: "label", scope: null, node: "data", label: "" });
    expect("label" in (history.present.nodes[0]?.data ?? {})).toBe(false);
  });

  it("names new nodes after their type, each once", () => {
    const doc = graph([node("conv2d", "Conv2d"), node("conv2d_2", "Conv2d")]);
    expect(freshId(doc, null, "Conv2d")).toBe("conv2d_3");
    expect(freshId(doc, null, "TrainTestSplit")).toBe("train_test_split");
    expect(freshId(doc, null, "TrainTestSplit", new Set(["train_test_split"]))).toBe("train_test_split_2");
  });

  it("duplicates nodes with the wires among them only", () => {
    const { command, ids } = duplicate(start(), null, ["split", "train"], { x: 10, y: 20 });
    const after = perform(startHistory(start()), command).present;
    expect(ids).toEqual(["split_2", "train_2"]);
    expect(after.nodes).toHaveLength(5);
    expect(after.nodes.at(-1)).toMatchObject({
      id: "train_2",
      position: { x: 10, y: 20 },
      data: { params: { epochs: 3 } },
    });
    expect(after.edges.slice(2).map(edgeId)).toEqual(["split_2.train->train_2.data"]);
  });
});

describe("history", () => {
  it("is not moved by what changes nothing", () => {
    const before = startHistory(start());
    expect(perform(before, { do: "move", scope: null, positions: { data: { x: 0, y: 0 } } })).toBe(before);
    expect(perform(before, { do: "remove", scope: null, nodes: ["gone"], edges: [] })).toBe(before);
    expect(undo(before)).toBe(before);
    expect(redo(before)).toBe(before);
  });

  it("takes changes of one name as one step, and no other", () => {
    let history = startHistory(start());
    for (const label of ["D", "Di", "Dig"]) {
      history = perform(history, { do: "label", scope: null, node: "data", label }, "label data");
    }
    history = perform(history, { do: "label", scope: null, node: "train", label: "T" }, "label train");
    expect(history.past).toHaveLength(2);
    expect(undo(undo(history)).present.nodes[0]?.data.label).toBeUndefined();
  });

  it("forgets what could be redone after another change", () => {
    let history = perform(startHistory(start()), { do: "label", scope: null, node: "data", label: "A" });
    history = perform(undo(history), { do: "label", scope: null, node: "data", label: "B" });
    expect(redo(history)).toBe(history);
  });

  it("keeps a bounded number of steps", () => {
    let history = startHistory(start());
    for (let x = 1; x <= MOST_STEPS + 5; x += 1) {
      history = perform(history, { do: "move", scope: null, positions: { data: { x, y: 0 } } });
    }
    expect(history.past).toHaveLength(MOST_STEPS);
  });
});
