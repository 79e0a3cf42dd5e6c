import { describe, expect, it } from "vitest";
import { type Command, duplicate, freshId } from "./commands";
import { edgeId, type GraphDocument, levelOf, type Scope } from "./document";
import { MOST_STEPS, perform, redo, startHistory, undo } from "./history";
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
    expect(freshId(doc, null, "TrainTestSplit", ["train_test_split"])).toBe("train_test_split_2");
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

  // Each seed plays its own 50 random changes; undoing all of them and redoing all of them meets every state again.
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("meets every recorded state again (seed %i)", (seed) => {
    const random = generator(seed);
    const first = graph(start().nodes.slice(), [], {
      edges: start().edges,
      subgraphs: { net: { nodes: [node("a", "Linear"), node("b", "ReLU")], edges: [] } },
    });
    let history = startHistory(first);
    const states: GraphDocument[] = [first];
    while (states.length <= 50) {
      const next = perform(history, randomCommand(history.present, random));
      if (next === history) continue;
      history = next;
      states.push(history.present);
    }
    for (let at = states.length - 2; at >= 0; at -= 1) {
      history = undo(history);
      expect(history.present).toEqual(states[at]);
    }
    for (let at = 1; at < states.length; at += 1) {
      history = redo(history);
      expect(history.present).toEqual(states[at]);
    }
  });
});

/** Mulberry32: small, and the same everywhere. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function randomCommand(doc: GraphDocument, random: () => number): Command {
  const scope: Scope = random() < 0.3 ? "net" : null;
  const level = levelOf(doc, scope);
  const pick = () => level.nodes[Math.floor(random() * level.nodes.length)]?.id ?? "none";
  switch (Math.floor(random() * 6)) {
    case 0:
      return { do: "add", scope, nodes: [node(freshId(doc, scope, "Conv2d"), "Conv2d")] };
    case 1:
      return { do: "move", scope, positions: { [pick()]: { x: Math.floor(random() * 500), y: 7 } } };
    case 2:
      return { do: "connect", scope, edge: wire(`${pick()}.out->${pick()}.in`) };
    case 3:
      return { do: "param", scope, node: pick(), name: "p", value: Math.floor(random() * 10) };
    case 4:
      return {
        do: "remove",
        scope,
        nodes: random() < 0.4 ? [pick()] : [],
        edges: level.edges.slice(0, 1).map(edgeId),
      };
    default:
      return {
        do: "all",
        commands: [
          { do: "label", scope, node: pick(), label: `n${Math.floor(random() * 100)}` },
          { do: "setting", name: "seed", value: Math.floor(random() * 100) },
        ],
      };
  }
}
