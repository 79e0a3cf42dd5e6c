import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiProblem, api } from "../../api";
import type { GraphShapes } from "../../api/types";
import { factOf, totalParameters } from "../model/shapes";
import { graph, node } from "../model/testing";
import { keepChecked } from "./checking";
import { createGraphStore, type GraphStore } from "./graph-store";

let store: GraphStore;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  store = createGraphStore("digits", graph([node("a", "Data")]), null);
  vi.spyOn(api, "graphShapes").mockResolvedValue(nothing);
});

afterEach(() => {
  stop();
  vi.useRealTimers();
});

const nothing: GraphShapes = { wires: [], nodes: [], problems: [] };

const label = (text: string) =>
  store.getState().perform({ do: "label", scope: null, node: "a", label: text }, "label a");

const problem = (message: string, code = "input_missing") => ({ message, code, node_id: "a", params: {} });

describe("keepChecked", () => {
  it("shows the problems of the document as it is, not those of an older one", async () => {
    const answers: ((message: string) => void)[] = [];
    vi.spyOn(api, "validateGraph").mockImplementation(
      (_, signal) =>
        new Promise((resolve, reject) => {
          answers.push((message) =>
            signal?.aborted === true
              ? reject(new DOMException("", "AbortError"))
              : resolve({ valid: false, problems: [problem(message)] }),
          );
        }),
    );
    stop = keepChecked(store);
    label("x");
    expect(store.getState().checked).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers).toHaveLength(2);
    answers[1]?.("new");
    answers[0]?.("old");
    await vi.advanceTimersByTimeAsync(10);
    expect(store.getState().checked).toBe(true);
    expect(store.getState().problems.map((one) => one.message)).toEqual(["new"]);
  });

  it("takes the problems from a refusal when the document cannot be read", async () => {
    const unread = { message: "not a graph", code: "graph_not_a_graph", node_id: null, params: {} };
    vi.spyOn(api, "validateGraph").mockRejectedValue(
      new ApiProblem({ status: 400, code: "invalid_graph", message: "", problems: [unread] }),
    );
    stop = keepChecked(store);
    await vi.advanceTimersByTimeAsync(10);
    expect(store.getState().problems).toEqual([unread]);
  });

  it("tells the shapes on the wires, and the layers that do not take what reaches them", async () => {
    vi.spyOn(api, "validateGraph").mockResolvedValue({ valid: false, problems: [problem("missing")] });
    vi.spyOn(api, "graphShapes").mockResolvedValue({
      wires: [
        {
          source: "a",
          source_port: "dataset",
          target: "b",
          target_port: "x",
          shape: [1797, 1, 8, 8],
          dtype: "float32",
        },
      ],
      nodes: [
        { node_id: "net/conv", outputs: { y: [null, 16, 8, 8] }, parameters: 160 },
        { node_id: "net", parameters: 6090 },
      ],
      problems: [problem("missing"), problem("takes no 3", "shape_mismatch")],
    });
    stop = keepChecked(store);
    await vi.advanceTimersByTimeAsync(10);
    const { shapes, problems } = store.getState();
    expect(factOf(shapes, "a", "dataset")).toEqual({ shape: [1797, 1, 8, 8], dtype: "float32" });
    expect(factOf(shapes, "net/conv", "y")?.shape).toEqual([null, 16, 8, 8]);
    expect(totalParameters(shapes)).toBe(6090);
    expect(problems.map((one) => one.message)).toEqual(["missing", "takes no 3"]);
  });

  it("gives up a question about a graph that changed, and asks nothing when only places did", async () => {
    const validate = vi.spyOn(api, "validateGraph").mockResolvedValue({ valid: true, problems: [] });
    const asked: (AbortSignal | undefined)[] = [];
    vi.spyOn(api, "graphShapes").mockImplementation((_, signal) => {
      asked.push(signal);
      return asked.length === 1 ? new Promise(() => {}) : Promise.resolve(nothing);
    });
    stop = keepChecked(store);
    await vi.advanceTimersByTimeAsync(10);
    label("x");
    expect(asked[0]?.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toHaveLength(2);
    expect(validate).toHaveBeenCalledTimes(2);
    store.getState().perform({ do: "move", scope: null, positions: { a: { x: 5, y: 5 } } });
    await vi.advanceTimersByTimeAsync(1000);
    expect(validate).toHaveBeenCalledTimes(2);
    expect(store.getState().checked).toBe(true);
  });
});
