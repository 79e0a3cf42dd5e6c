import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiProblem, api } from "../api";
import type { Draft, SavedGraph } from "../api/types";
import type { GraphDocument } from "../canvas/model/document";
import { graph, node } from "../canvas/model/testing";
import { createGraphStore, documentOf, type GraphStore } from "../canvas/store/graph-store";
import { keepGraph } from "./keeper";
import type { KeptGraph } from "./kept";
import { memoryMirror } from "./mirror";
import { type Found, startWith } from "./start";

const NOTHING: Found = { saved: null, draft: null, example: null, mirrored: null };
const first = graph([node("a", "Data")]);

let store: GraphStore;
let kept: KeptGraph;
let mirror: ReturnType<typeof memoryMirror>;
const told = { saved: [] as number[], adopted: [] as number[] };
let hearSaved: (revision: number) => void = () => {};

function open(name: string, found: Partial<Found>): void {
  const start = startWith(name, { ...NOTHING, ...found });
  store = createGraphStore(name, start.doc, start.revision);
  kept = keepGraph(store, start, {
    mirror,
    neighbours: {
      tab: "me",
      open: (_, watcher) => {
        hearSaved = watcher.onSaved;
        return () => {};
      },
      saved: (_, revision) => told.saved.push(revision),
    },
    onAdopted: (revision) => told.adopted.push(revision),
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  mirror = memoryMirror();
  told.saved = [];
  told.adopted = [];
  vi.spyOn(api, "deleteDraft").mockResolvedValue();
});

afterEach(() => {
  kept.stop();
  vi.useRealTimers();
});

const label = (text: string) =>
  store.getState().perform({ do: "label", scope: null, node: "a", label: text }, "label a");
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const saved = (doc: unknown, revision: number): SavedGraph => ({
  name: "x",
  revision,
  updated_at: 0,
  graph: doc,
});
const labelled = (text: string): GraphDocument =>
  graph([{ ...node("a", "Data"), data: { params: {}, label: text } }]);

/** Answers of the server, one after the other. */
function saving(...answers: (number | Error)[]) {
  return vi.spyOn(api, "saveGraph").mockImplementation(async (_, doc) => {
    const answer = answers.shift();
    if (answer === undefined) throw new Error("one save too many");
    if (answer instanceof Error) throw answer;
    return saved(doc, answer);
  });
}

function drafting(...answers: (number | Error)[]) {
  return vi.spyOn(api, "saveDraft").mockImplementation(async (_, doc) => {
    const answer = answers.shift();
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error("one draft too many");
    return { ...saved(doc, answer), graph_revision: 0 } satisfies Draft;
  });
}

const refused = (status: number, current?: SavedGraph) =>
  new ApiProblem({ status, code: "x", message: "no", current });

describe("saving", () => {
  it("once for many changes, as a new graph first and on its revision after that", async () => {
    const save = saving(1, 2);
    open("digits", { example: first });
    for (const text of ["D", "Di", "Dig"]) label(text);
    expect(store.getState().save).toBe("waiting");
    await pass(1000);
    expect(save).toHaveBeenCalledOnce();
    expect(save.mock.lastCall?.slice(0, 3)).toEqual(["digits", documentOf(store.getState()), 0]);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 1 });
    label("Digits");
    await pass(1000);
    expect(save.mock.lastCall?.[2]).toBe(1);
    expect(told.saved).toEqual([1, 2]);
  });

  it("does nothing for a graph that nobody changed", async () => {
    const save = saving();
    open("digits", { saved: { doc: first, revision: 4 } });
    store.getState().select(["a"]);
    await pass(20_000);
    expect(save).not.toHaveBeenCalled();
    expect(mirror.entries.size).toBe(0);
  });

  it("says why it failed, keeps the change in this browser and tries until it works", async () => {
    const save = saving(refused(0), refused(500), 4);
    open("digits", { saved: { doc: first, revision: 3 } });
    label("x");
    await pass(1000);
    expect(store.getState()).toMatchObject({ save: "failed", saveProblem: "no" });
    expect([...mirror.entries.values()]).toMatchObject([{ tab: "me", revision: 3, base: first }]);
    await pass(12_000);
    expect(save).toHaveBeenCalledTimes(3);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 4 });
    expect(mirror.entries.size).toBe(0);
  });

  it("does not try again what the server will never take, until the person asks", async () => {
    const save = saving(refused(413), 2);
    open("digits", { saved: { doc: first, revision: 1 } });
    label("x");
    await pass(60_000);
    expect(save).toHaveBeenCalledOnce();
    expect(kept.state.getState()).toMatchObject({ retryAt: null, mirrored: true });
    kept.retry();
    await pass(10);
    expect(store.getState().save).toBe("saved");
  });

  it("goes on with what changed while a save was under way", async () => {
    let answer: (revision: number) => void = () => {};
    const save = vi
      .spyOn(api, "saveGraph")
      .mockImplementation(
        (_, doc) => new Promise((resolve) => (answer = (revision) => resolve(saved(doc, revision)))),
      );
    open("digits", { example: first });
    label("first");
    await pass(1000);
    label("second");
    await pass(5000);
    expect(save).toHaveBeenCalledOnce();
    answer(1);
    await pass(10);
    expect(save).toHaveBeenCalledTimes(2);
    expect(save.mock.lastCall?.[2]).toBe(1);
  });

  it("knows its own words again when only the answer was lost", async () => {
    const save = saving(refused(0), refused(409, saved(labelled("sent"), 2)), 3);
    open("digits", { saved: { doc: first, revision: 1 } });
    label("sent");
    await pass(1000);
    label("more");
    await pass(5000);
    expect(save.mock.lastCall?.[2]).toBe(2);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 3 });
    expect(kept.state.getState().conflict).toBeNull();
  });

  it("keeps a graph without a name as a draft, and in its file once it has one", async () => {
    const draft = drafting(1);
    const save = saving(2);
    open("untitled", {});
    store.getState().perform({ do: "add", scope: null, nodes: [node("a", "Data")] });
    await pass(1000);
    expect(draft.mock.lastCall?.[0]).toBe("untitled");
    kept.renamed("digits", 1);
    expect(store.getState()).toMatchObject({ name: "digits", revision: 1 });
    expect(documentOf(store.getState()).name).toBe("digits");
    label("x");
    await pass(1000);
    expect(save.mock.lastCall?.slice(0, 1)).toEqual(["digits"]);
  });
});

describe("two versions", () => {
  const conflict = async (current?: SavedGraph) => {
    const save = saving(refused(409, current), 9);
    const draft = drafting(1, 2);
    open("digits", { saved: { doc: first, revision: 1 } });
    label("mine");
    await pass(1000);
    expect(store.getState().save).toBe("conflict");
    return { save, draft };
  };

  it("are both kept: nothing is overwritten, mine lies on the server as a draft", async () => {
    const { save, draft } = await conflict(saved(labelled("theirs"), 7));
    await pass(60_000);
    label("mine, more");
    await pass(60_000);
    expect(save).toHaveBeenCalledOnce();
    expect(
      draft.mock.calls.map(([, doc, base]) => [(doc as GraphDocument).nodes[0]?.data.label, base]),
    ).toEqual([
      ["mine", { revision: 0, graphRevision: 1 }],
      ["mine, more", { revision: 1, graphRevision: 1 }],
    ]);
    expect(kept.state.getState().conflict).toMatchObject({ revision: 7, draft: 2, base: first });
    expect([...mirror.entries.values()][0]?.doc.nodes[0]?.data.label).toBe("mine, more");
  });

  it("are none when they say the same", async () => {
    saving(refused(409, saved(labelled("mine"), 7)));
    open("digits", { saved: { doc: first, revision: 1 } });
    label("mine");
    await pass(1000);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 7 });
  });

  it("mine goes over theirs when the person says so", async () => {
    const { save } = await conflict(saved(labelled("theirs"), 7));
    kept.takeMine();
    await pass(10);
    expect(save.mock.lastCall?.[2]).toBe(7);
    expect(store.getState()).toMatchObject({ save: "saved", revision: 9 });
    expect(api.deleteDraft).toHaveBeenCalledOnce();
    expect(mirror.entries.size).toBe(0);
  });

  it("theirs takes the place of mine, which Undo brings back", async () => {
    const { save } = await conflict(saved(labelled("theirs"), 7));
    await kept.takeTheirs();
    await pass(5000);
    expect(documentOf(store.getState()).nodes[0]?.data.label).toBe("theirs");
    expect(store.getState()).toMatchObject({ save: "saved", revision: 7 });
    expect(save).toHaveBeenCalledOnce();
    store.getState().undo();
    await pass(1000);
    expect(documentOf(store.getState()).nodes[0]?.data.label).toBe("mine");
    expect(store.getState()).toMatchObject({ save: "saved", revision: 9 });
  });

  it("mine is saved under another name", async () => {
    const { save } = await conflict(saved(labelled("theirs"), 7));
    await kept.keepBoth("digits-copy");
    expect(save.mock.lastCall?.[0]).toBe("digits-copy");
    expect(save.mock.lastCall?.[1]).toMatchObject({ nodes: [{ data: { label: "mine" } }] });
    expect(documentOf(store.getState()).nodes[0]?.data.label).toBe("theirs");
    expect(kept.state.getState().conflict).toBeNull();
  });

  it("a graph that was deleted elsewhere can be saved again", async () => {
    const { save } = await conflict();
    expect(kept.state.getState().conflict?.theirs).toBeNull();
    kept.takeMine();
    await pass(10);
    expect(save.mock.lastCall?.[2]).toBe(0);
    expect(store.getState().save).toBe("saved");
  });

  it("a tab without changes of its own follows what another tab saved", async () => {
    vi.spyOn(api, "graph").mockResolvedValue(saved(labelled("theirs"), 2));
    saving();
    open("digits", { saved: { doc: first, revision: 1 } });
    hearSaved(2);
    await pass(10);
    expect(documentOf(store.getState()).nodes[0]?.data.label).toBe("theirs");
    expect(store.getState()).toMatchObject({ save: "saved", revision: 2 });
    expect(told.adopted).toEqual([2]);
    await pass(5000);
  });
});
