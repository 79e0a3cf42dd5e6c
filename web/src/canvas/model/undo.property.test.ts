// Fifty random changes of any kind: undoing all of them, and redoing all of them, meets every state again.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Command } from "./commands";
import { duplicate, pasteOf } from "./copying";
import { edgeId, type GraphDocument, levelOf, notesOf, type Scope } from "./document";
import { levelsOf, setInterface } from "./exposing";
import { group, groupable, toPreset, ungroup } from "./group";
import { perform, redo, startHistory, undo } from "./history";
import { interfaceOf } from "./interface";
import { fresh, freshId } from "./naming";
import { catalog, graph, node, wire } from "./testing";
import { typesOf } from "./types";

const STEPS = 50;

const first = () =>
  graph(
    [
      node("data", "Data"),
      node("split", "Split"),
      node("net", "Net", { subgraph: "layers" }),
      node("train", "Train", { epochs: 3 }),
    ],
    ["data.dataset->split.dataset", "split.train->train.data", "net.model->train.model"],
    {
      subgraphs: {
        layers: { nodes: [node("a", "BatchNorm2d"), node("b", "BatchNorm2d")], edges: [wire("a.y->b.x")] },
      },
    },
  );

/** Numbers between 0 and 1, as many as a change may need. */
type Dice = readonly number[];

function anyCommand(doc: GraphDocument, dice: Dice): Command | null {
  const [kind = 0, where = 0, one = 0, two = 0, value = 0] = dice;
  const levels = levelsOf(doc);
  const [scope, level] = levels[Math.floor(where * levels.length)] as (typeof levels)[number];
  const items = [...level.nodes, ...notesOf(level)];
  const id = items[Math.floor(one * items.length)]?.id ?? "none";
  const other = items[Math.floor(two * items.length)]?.id ?? "none";
  const number = Math.floor(value * 1000);
  const types = typesOf(doc, catalog);
  const makers: (() => Command | null)[] = [
    () => ({ do: "add", scope, nodes: [node(freshId(doc, scope, "Split"), "Split")] }),
    () => ({ do: "add", scope, nodes: [], notes: [noteCalled(freshId(doc, scope, "note"))] }),
    () => ({ do: "move", scope, positions: { [id]: { x: number, y: 7 }, [other]: { x: 1, y: number } } }),
    () => ({ do: "connect", scope, edge: wire(`${id}.out->${other}.in`) }),
    () => ({ do: "param", scope, node: id, name: "p", value: number > 500 ? number : undefined }),
    () => ({ do: "label", scope, node: id, label: number > 500 ? `n${number}` : "" }),
    () => ({ do: "mark", scope, nodes: [id, other], mark: "collapsed", on: number > 500 }),
    () => ({ do: "mark", scope, nodes: [id], mark: "bypassed", on: number > 300 }),
    () => ({ do: "note", scope, note: id, change: { text: `t${number}` } }),
    () => ({ do: "remove", scope, nodes: [id], edges: [] }),
    () => ({ do: "remove", scope, nodes: [], edges: level.edges.slice(0, 1).map(edgeId) }),
    () => ({ do: "setting", name: "seed", value: number }),
    () => duplicate(doc, scope, [id, other], { x: 32, y: 32 }).command,
    () => pasteOf(doc, scope, first(), { x: number, y: 0 }).command,
    () => (groupable(level, [id, other]) ? group(doc, scope, types, [id, other], "group").command : null),
    () => ungroup(doc, scope, id)?.command ?? null,
    () =>
      toPreset(
        doc,
        scope,
        id,
        fresh("preset", (name) => name in (doc.presets ?? {})),
      )?.command ?? null,
    () => (scope === null ? null : setInterface(doc, scope, lessOf(doc, scope))),
  ];
  return makers[Math.floor(kind * makers.length)]?.() ?? null;
}

function noteCalled(id: string) {
  return { id, kind: "note" as const, position: { x: 0, y: 0 }, size: { width: 90, height: 40 }, text: "" };
}

function lessOf(doc: GraphDocument, scope: Scope) {
  const { inputs, outputs, params } = interfaceOf(levelOf(doc, scope));
  return {
    inputs: inputs.slice(1),
    outputs: outputs.map((item) => ({ ...item, name: `${item.name}x` })),
    params,
  };
}

describe("undo and redo", () => {
  it("meet every recorded state again", () => {
    const dice = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
      minLength: 5,
      maxLength: 5,
    });
    fc.assert(
      fc.property(fc.array(dice, { minLength: STEPS * 2, maxLength: STEPS * 2 }), (rolls) => {
        let history = startHistory(first());
        const states = [JSON.stringify(history.present)];
        for (const roll of rolls) {
          if (states.length > STEPS || history.present.nodes.length > 60) break;
          const command = anyCommand(history.present, roll);
          const next = command === null ? history : perform(history, command);
          if (next === history) continue;
          // As text: what a state was must not be changed by what comes after it.
          states.push(JSON.stringify(next.present));
          history = next;
        }
        for (let at = states.length - 2; at >= 0; at -= 1) {
          history = undo(history);
          expect(JSON.stringify(history.present)).toBe(states[at]);
        }
        expect(undo(history)).toBe(history);
        for (let at = 1; at < states.length; at += 1) {
          history = redo(history);
          expect(JSON.stringify(history.present)).toBe(states[at]);
        }
        expect(redo(history)).toBe(history);
      }),
      { numRuns: 10 },
    );
  });
});
