// Adding a node, wired where a wire was in hand.
import type { Bridge } from "./model/bridge";
import { fits } from "./model/catalog";
import { apply, type Command } from "./model/commands";
import { bringLevels, renameIn } from "./model/copying";
import {
  findLevel,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  levelOf,
  type Point,
  type Scope,
} from "./model/document";
import type { Entry } from "./model/entries";
import { fresh, freshId } from "./model/naming";
import type { WireInHand } from "./model/search";
import { documentOf, type GraphStore, scopeOf } from "./store/graph-store";

/** Under this name a drag carries the id of an entry. */
export const NODE_DRAG = "application/x-codefy-node";

/** Adds the node and selects it; answers its id. */
export function place(
  store: GraphStore,
  entry: Entry,
  at: Point,
  wire: WireInHand | null,
  port: string | null,
): string {
  const state = store.getState();
  const made = newNode(documentOf(state), scopeOf(state), entry, at);
  const { commands, id } = made;
  if (wire !== null && port !== null) {
    commands.push({ do: "connect", scope: scopeOf(state), edge: wireTo(wire, id, port) });
  }
  state.perform({ do: "all", commands });
  store.getState().select([id]);
  return id;
}

/** Puts a node between the two ends of a wire that they refuse; answers its id. */
export function placeBridge(store: GraphStore, { entry, input, output }: Bridge, edge: GraphEdge): string {
  const state = store.getState();
  const scope = scopeOf(state);
  const level = levelOf(documentOf(state), scope);
  const ends = [edge.source, edge.target].map((id) => level.nodes.find((node) => node.id === id)?.position);
  const xs = ends.map((point) => point?.x ?? 0);
  const ys = ends.map((point) => point?.y ?? 0);
  const middle = { x: ((xs[0] ?? 0) + (xs[1] ?? 0)) / 2, y: ((ys[0] ?? 0) + (ys[1] ?? 0)) / 2 + 48 };
  const { commands, id } = newNode(documentOf(state), scope, entry, middle);
  commands.push(
    { do: "connect", scope, edge: { ...edge, target: id, targetHandle: input } },
    { do: "connect", scope, edge: { ...edge, source: id, sourceHandle: output } },
  );
  state.perform({ do: "all", commands });
  store.getState().select([id]);
  return id;
}

/** Adds a node with another one between it and the wire in hand; answers the id of the first. */
export function placeBridged(
  store: GraphStore,
  entry: Entry,
  { entry: between, input, output }: Bridge,
  at: Point,
  wire: WireInHand,
): string {
  const state = store.getState();
  const scope = scopeOf(state);
  const first = newNode(documentOf(state), scope, between, at);
  const doc = first.commands.reduce(apply, documentOf(state));
  const second = newNode(doc, scope, entry, { x: at.x + 260, y: at.y });
  const gives = between.definition.outputs.find((port) => port.name === output)?.type ?? "any";
  const port = entry.definition.inputs.find((candidate) => fits(gives, candidate.type));
  const commands: Command[] = [
    ...first.commands,
    ...second.commands,
    { do: "connect", scope, edge: wireTo(wire, first.id, input) },
  ];
  if (port !== undefined) {
    const edge = { source: first.id, sourceHandle: output, target: second.id, targetHandle: port.name };
    commands.push({ do: "connect", scope, edge });
  }
  state.perform({ do: "all", commands });
  store.getState().select([second.id]);
  return second.id;
}

function wireTo(wire: WireInHand, id: string, port: string): GraphEdge {
  return wire.end === "source"
    ? { source: wire.node, sourceHandle: wire.port, target: id, targetHandle: port }
    : { source: id, sourceHandle: port, target: wire.node, targetHandle: wire.port };
}

function newNode(
  doc: GraphDocument,
  scope: Scope,
  entry: Entry,
  at: Point,
): { commands: Command[]; id: string } {
  const { definition } = entry;
  const id = freshId(doc, scope, definition.type === "Preset" ? definition.title : definition.type);
  const position = clear(levelOf(doc, scope).nodes, { x: Math.round(at.x), y: Math.round(at.y) });
  const commands: Command[] = [];
  let node: GraphNode = {
    id,
    type: definition.type,
    position,
    // The version says which parameters these are when the type has changed one day.
    data: { params: entry.params, ...(definition.version > 1 ? { version: definition.version } : {}) },
  };
  if (entry.brings !== null) {
    const copy = { ...entry.brings, nodes: [node], edges: [] };
    node = renameIn(node, bringLevels(doc, copy, commands));
  }
  const inner = definition.type === "Preset" ? undefined : newInside(definition.params, node.data.params);
  if (inner !== undefined) {
    // A new module gets an inside of its own, with its two ends.
    const name = fresh(id, (candidate) => findLevel(doc, candidate) !== undefined);
    node = { ...node, data: { ...node.data, params: { ...node.data.params, [inner]: name } } };
    commands.push({
      do: "level",
      scope: name,
      level: {
        nodes: [
          { id: "input", type: "ModuleInput", position: { x: 0, y: 0 }, data: { params: {} } },
          { id: "output", type: "ModuleOutput", position: { x: 560, y: 0 }, data: { params: {} } },
        ],
        edges: [],
      },
    });
  }
  commands.push({ do: "add", scope, nodes: [node] });
  return { commands, id };
}

function newInside(
  params: Entry["definition"]["params"],
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  return params.find((param) => param.kind === "subgraph" && given[param.name] === undefined)?.name;
}

/** The place itself, or one a little further down when a node stands there already. */
export function clear(nodes: readonly { position: Point }[], at: Point): Point {
  let place = at;
  while (
    nodes.some((node) => Math.abs(node.position.x - place.x) < 16 && Math.abs(node.position.y - place.y) < 16)
  ) {
    place = { x: place.x + 24, y: place.y + 24 };
  }
  return place;
}
