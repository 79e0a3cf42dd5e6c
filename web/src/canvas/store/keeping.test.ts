import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiProblem, api } from "../../api";
import type { SavedGraph } from "../../api/types";
import { graph, node } from "../model/testing";
import { createGraphStore, documentOf, type GraphStore } from "./graph-store";
import { keepSaved } from "./keeping";

let store: GraphStore;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  store = createGraphStore("digits", graph([node("a", "Data")]), null);
});

afterEach(() => {
  stop();
  vi.useRealTimers();
});

const label = (text: string) =>
  store.getState().perform({ do: "label", scope: null, node: "a", label: text }, "label a");

function saving(...answers: (number | Error)[]) {
  return vi.spyOn(api, "saveGraph").mockImplementation(async (name, doc) => {
    const answer = answers.shift();
    if (answer === undefined) throw new Error("one save too many");
    if (answer instanceof Error) throw answer;
    return { name, revision: answer, updated_at: 0, graph: doc } satisfies SavedGraph;
  });
}

const refused = (status: number) => new ApiProblem({ status, code: "x", message: "no" });

describe("keepSaved", () => {
  it("saves once for many changes, as a new graph first and on its revision after that", async () => {
    const save = saving(1, 2);
    stop = keepSaved(store);
    for (const text of ["D", "Di", "Dig"]) label(text);
    expect(store.getState().save).toBe("waiting");
    await vi.advanceTimersByTimeAsync(1000);
    expect(save).toHaveBeenCalledOnce();
    expect(save).toHaveBeenLastCalledWith("digits", documentOf(store.getState()), 0);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 1 });
    label("Digits");
    await vi.advanceTimersByTimeAsync(1000);
    expect(save).toHaveBeenLastCalledWith("digits", documentOf(store.getState()), 1);
  });

  it("does not save a graph that nobody changed", async () => {
    const save = saving();
    stop = keepSaved(store);
    store.getState().select(["a"]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(save).not.toHaveBeenCalled();
    expect(store.getState().save).toBe("untouched");
  });

  it("says that a save failed and tries until it works", async () => {
    const save = saving(refused(0), refused(500), 4);
    stop = keepSaved(store);
    label("x");
    await vi.advanceTimersByTimeAsync(1000);
    expect(store.getState()).toMatchObject({ save: "failed", saveProblem: "no" });
    await vi.advanceTimersByTimeAsync(12_000);
    expect(save).toHaveBeenCalledTimes(3);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 4, saveProblem: null });
  });

  it("overwrites nobody: another revision on the server stops it until the person decides", async () => {
    const save = saving(refused(409), 8);
    stop = keepSaved(store);
    label("x");
    await vi.advanceTimersByTimeAsync(1000);
    expect(store.getState().save).toBe("conflict");
    label("xy");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(save).toHaveBeenCalledOnce();
    store.getState().takeOver(7);
    await vi.advanceTimersByTimeAsync(1000);
    expect(save).toHaveBeenLastCalledWith("digits", documentOf(store.getState()), 7);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 8 });
  });

  it("saves what changed while a save was under way", async () => {
    let answer: (revision: number) => void = () => {};
    const save = vi.spyOn(api, "saveGraph").mockImplementation(
      (name, doc) =>
        new Promise((resolve) => {
          answer = (revision) => resolve({ name, revision, updated_at: 0, graph: doc });
        }),
    );
    stop = keepSaved(store);
    label("first");
    await vi.advanceTimersByTimeAsync(1000);
    label("second");
    await vi.advanceTimersByTimeAsync(5000);
    expect(save).toHaveBeenCalledOnce();
    answer(1);
    await vi.advanceTimersByTimeAsync(10);
    expect(save).toHaveBeenCalledTimes(2);
    expect(save).toHaveBeenLastCalledWith("digits", documentOf(store.getState()), 1);
  });
});
