// The work behind the commands, by part: building, groups, arranging, looking around.
import type { ReactFlowInstance } from "@xyflow/react";
import { FIT } from "../fit";
import {
  type Alignment,
  align,
  around,
  type Box,
  FRAME_ROOM,
  followed,
  GRID,
  type Positions,
  spread,
} from "../model/arrange";
import type { Command } from "../model/commands";
import { duplicate } from "../model/copying";
import {
  findNode,
  isBypassed,
  isCollapsed,
  isGroup,
  type Note,
  notesOf,
  type Point,
  scopeBehind,
} from "../model/document";
import type { FlowEdge, FlowNode } from "../model/flow";
import { group, groupable, ungroup } from "../model/group";
import { freshId } from "../model/naming";
import { tidy } from "../model/tidy";
import { typesOf } from "../model/types";
import { clear } from "../placing";
import type { Editor } from "../store/editor";
import { currentLevel, documentOf, type GraphState, scopeOf } from "../store/graph-store";
import { useStageUi } from "../store/stage-ui";
import { useView } from "../store/view";
import { reducedMotion } from "../use-keep-in-sight";
import { focusNode } from "../use-node-keys";
import type { CommandName } from "./list";
import { focusRegion } from "./regions";

export interface Act {
  act(): void;
  can?(state: GraphState): boolean;
}

export type Acts = Record<CommandName, Act>;
type Some<Name extends CommandName> = Record<Name, Act>;

export interface Hands {
  editor: Editor;
  flow: ReactFlowInstance<FlowNode, FlowEdge>;
  /** What a new group is called. */
  groupName: string;
}

const chosen = (state: GraphState) => state.selection.length > 0;

/** Ids of the selected nodes, without notes; the focused node when nothing is selected. */
function nodesAtHand(state: GraphState): string[] {
  const level = currentLevel(state);
  const ids = state.selection.filter((id) => findNode(level, id) !== undefined);
  if (ids.length > 0 || state.selection.length > 0) return ids;
  const focused = focusedNode();
  return focused !== null && findNode(level, focused) !== undefined ? [focused] : [];
}

function focusedNode(): string | null {
  return document.activeElement?.closest<HTMLElement>("[data-node]")?.dataset.node ?? null;
}

export function duration(): number {
  return reducedMotion() ? 0 : 160;
}

export function boxesOf(flow: Hands["flow"], ids?: readonly string[]): Box[] {
  return flow
    .getNodes()
    .filter((node) => ids === undefined || ids.includes(node.id))
    .map((node) => ({
      id: node.id,
      x: node.position.x,
      y: node.position.y,
      width: node.measured?.width ?? node.width ?? 200,
      height: node.measured?.height ?? node.height ?? 100,
    }));
}

/** The middle of what is seen of the canvas. */
function middle(flow: Hands["flow"]): Point {
  const stage = document.querySelector(".stage")?.getBoundingClientRect();
  return flow.screenToFlowPosition({
    x: (stage?.left ?? 0) + (stage?.width ?? 0) / 2,
    y: (stage?.top ?? 0) + (stage?.height ?? 0) / 2,
  });
}

export function building({
  editor: { store },
  flow,
}: Hands): Some<
  | "add"
  | "library"
  | "note"
  | "frame"
  | "wire"
  | "rename"
  | "bypass"
  | "collapse"
  | "duplicate"
  | "delete"
  | "selectAll"
> {
  const addNote = (kind: Note["kind"], box: Point & Note["size"]) => {
    const state = store.getState();
    const id = freshId(documentOf(state), scopeOf(state), kind);
    const position = { x: Math.round(box.x), y: Math.round(box.y) };
    const size = { width: box.width, height: box.height };
    const note: Note = { id, kind, position, size, text: "" };
    state.perform({ do: "add", scope: scopeOf(state), nodes: [], notes: [note] });
    store.getState().select([id]);
    useStageUi.setState({ renaming: id });
  };
  const mark = (name: "bypassed" | "collapsed", is: typeof isBypassed) => () => {
    const state = store.getState();
    const level = currentLevel(state);
    const nodes = nodesAtHand(state).flatMap((id) => findNode(level, id) ?? []);
    // Groups are taken apart before a run: a group as a whole cannot be passed by.
    const ids = nodes.filter((node) => name !== "bypassed" || !isGroup(node)).map((node) => node.id);
    const on = nodes.some((node) => !is(node));
    state.perform({ do: "mark", scope: scopeOf(state), nodes: ids, mark: name, on });
  };
  const some = (state: GraphState) => nodesAtHand(state).length > 0;
  return {
    add: { act: () => useStageUi.getState().openSearch({ at: null, wire: null }) },
    library: { act: () => useView.getState().set({ libraryOpen: !useView.getState().libraryOpen }) },
    note: {
      act: () => {
        const at = middle(flow);
        const level = currentLevel(store.getState());
        const free = clear([...level.nodes, ...notesOf(level)], { x: at.x - 90, y: at.y - 30 });
        addNote("note", { ...free, width: 200, height: 72 });
      },
    },
    frame: {
      act: () => {
        const boxes = boxesOf(flow, nodesAtHand(store.getState()));
        const at = middle(flow);
        addNote(
          "frame",
          boxes.length > 0
            ? around(boxes, FRAME_ROOM.sides, FRAME_ROOM.above)
            : { x: at.x - 180, y: at.y - 110, width: 360, height: 220 },
        );
      },
    },
    wire: {
      act: () => {
        const [id] = focusedNode() === null ? nodesAtHand(store.getState()) : [focusedNode() as string];
        if (id !== undefined) useStageUi.setState({ wiring: id });
      },
      can: some,
    },
    rename: {
      act: () => {
        const state = store.getState();
        const id = state.selection[0] ?? nodesAtHand(state)[0];
        if (id !== undefined) useStageUi.setState({ renaming: id });
      },
      can: (state) => chosen(state) || some(state),
    },
    bypass: { act: mark("bypassed", isBypassed), can: some },
    collapse: { act: mark("collapsed", isCollapsed), can: some },
    duplicate: {
      act: () => {
        const state = store.getState();
        const ids = state.selection.length > 0 ? state.selection : nodesAtHand(state);
        if (ids.length === 0) return;
        const made = duplicate(documentOf(state), scopeOf(state), ids, { x: 32, y: 32 });
        state.perform(made.command);
        store.getState().select(made.ids);
        const [first] = made.ids;
        if (first !== undefined) focusNode(first);
      },
      can: (state) => chosen(state) || some(state),
    },
    delete: { act: () => useStageUi.getState().removeChosen() },
    selectAll: {
      act: () => {
        const state = store.getState();
        const level = currentLevel(state);
        state.select([...level.nodes, ...notesOf(level)].map((item) => item.id));
      },
    },
  };
}

export function grouping({
  editor: { store, catalog },
  groupName,
}: Hands): Some<"open" | "up" | "group" | "ungroup" | "expose" | "preset"> {
  const one = (state: GraphState) => {
    const [id, ...others] = nodesAtHand(state);
    return id === undefined || others.length > 0 ? undefined : findNode(currentLevel(state), id);
  };
  const opens = (state: GraphState) => {
    const node = one(state);
    return node === undefined ? null : scopeBehind(node);
  };
  const canGroup = (state: GraphState) => groupable(currentLevel(state), nodesAtHand(state));
  const makeGroup = (): { id: string; name: string } | null => {
    const state = store.getState();
    if (!canGroup(state)) return null;
    const doc = documentOf(state);
    const scope = scopeOf(state);
    // Notes go into the group with the nodes around which they stand.
    const ids = state.selection.length > 0 ? state.selection : nodesAtHand(state);
    const made = group(doc, scope, typesOf(doc, catalog), ids, groupName);
    state.perform(made.command);
    store.getState().select([made.id]);
    return made;
  };
  const isOpenable = (state: GraphState) => {
    const node = one(state);
    return node !== undefined && isGroup(node);
  };
  return {
    open: {
      act: () => {
        const node = one(store.getState());
        const scope = opens(store.getState());
        if (node !== undefined && scope !== null) store.getState().open({ node: node.id, subgraph: scope });
      },
      can: (state) => opens(state) !== null,
    },
    up: {
      act: () => {
        const state = store.getState();
        if (state.selection.length > 0) state.select([]);
        else if (state.trail.length > 0) state.leave(state.trail.length - 1);
      },
      can: (state) => chosen(state) || state.trail.length > 0,
    },
    group: {
      act: () => {
        const made = makeGroup();
        if (made !== null) useStageUi.setState({ renaming: made.id });
      },
      can: canGroup,
    },
    ungroup: {
      act: () => {
        const state = store.getState();
        const commands: Command[] = [];
        const node = one(state);
        const freed = node && ungroup(documentOf(state), scopeOf(state), node.id);
        if (freed === undefined || freed === null) return;
        commands.push(freed.command);
        state.perform({ do: "all", commands });
        store.getState().select(freed.ids);
        const [first] = freed.ids;
        if (first !== undefined) focusNode(first);
      },
      can: isOpenable,
    },
    expose: {
      act: () => {
        const state = store.getState();
        const node = one(state);
        const scope = isOpenable(state) ? opens(state) : scopeOf(state);
        if (scope !== null) {
          useStageUi.setState({ exposing: { scope, node: node?.id ?? null, preset: false } });
        }
      },
      can: (state) => isOpenable(state) || isGroupOpen(state),
    },
    preset: {
      act: () => {
        const node = one(store.getState());
        const scope = opens(store.getState());
        if (node?.type === "Subgraph" && scope !== null) {
          useStageUi.setState({ exposing: { scope, node: node.id, preset: true } });
          return;
        }
        const made = makeGroup();
        if (made !== null) {
          useStageUi.setState({ exposing: { scope: made.name, node: made.id, preset: true } });
        }
      },
      can: (state) => one(state)?.type === "Subgraph" || (one(state)?.type !== "Preset" && canGroup(state)),
    },
  };
}

/** Whether the open level is the inside of a group, which shows ports outside. */
export function isGroupOpen(state: GraphState): boolean {
  const at = state.trail.at(-1);
  if (at === undefined) return false;
  const above = currentLevel({ ...state, trail: state.trail.slice(0, -1) });
  const node = findNode(above, at.node);
  return node !== undefined && isGroup(node);
}

const ALIGNMENTS = {
  alignLeft: "left",
  alignCenter: "center",
  alignRight: "right",
  alignTop: "top",
  alignMiddle: "middle",
  alignBottom: "bottom",
} as const satisfies Partial<Record<CommandName, Alignment>>;

export function arranging({
  editor: { store },
  flow,
}: Hands): Some<keyof typeof ALIGNMENTS | "spreadAcross" | "spreadDown" | "tidy" | "snap"> {
  const move = (positions: Positions) => {
    const state = store.getState();
    state.perform({ do: "move", scope: scopeOf(state), positions });
  };
  const selected = () => boxesOf(flow, store.getState().selection);
  const aligned = (how: Alignment): Act => ({
    act: () => move(align(selected(), how)),
    can: (state) => state.selection.length > 1,
  });
  const spreads = (along: "x" | "y"): Act => ({
    act: () => move(spread(selected(), along)),
    can: (state) => state.selection.length > 2,
  });
  const tidyUp = async () => {
    const state = store.getState();
    const level = currentLevel(state);
    const sizes = new Map(boxesOf(flow).map((box) => [box.id, box]));
    let positions: Positions;
    try {
      const { layout } = await import("../model/layout");
      positions = layout(level, sizes);
    } catch {
      // The server may be away: a plain layout needs nothing from it.
      positions = tidy(level, sizes);
    }
    if (currentLevel(store.getState()) !== level) return;
    const scope = scopeOf(state);
    const follow = followed(notesOf(level), [...sizes.values()], positions).map(
      ({ id, change }): Command => ({ do: "note", scope, note: id, change }),
    );
    state.perform({ do: "all", commands: [{ do: "move", scope, positions }, ...follow] });
    requestAnimationFrame(() => void flow.fitView({ ...FIT, duration: duration() }));
  };
  return {
    alignLeft: aligned(ALIGNMENTS.alignLeft),
    alignCenter: aligned(ALIGNMENTS.alignCenter),
    alignRight: aligned(ALIGNMENTS.alignRight),
    alignTop: aligned(ALIGNMENTS.alignTop),
    alignMiddle: aligned(ALIGNMENTS.alignMiddle),
    alignBottom: aligned(ALIGNMENTS.alignBottom),
    spreadAcross: spreads("x"),
    spreadDown: spreads("y"),
    tidy: { act: () => void tidyUp(), can: (state) => currentLevel(state).nodes.length > 0 },
    snap: {
      act: () => {
        const snap = !useView.getState().snap;
        useView.getState().set({ snap });
        if (!snap) return;
        const onGrid = (value: number) => Math.round(value / GRID) * GRID;
        move(
          Object.fromEntries(
            currentLevel(store.getState()).nodes.map(({ id, position }) => [
              id,
              { x: onGrid(position.x), y: onGrid(position.y) },
            ]),
          ),
        );
      },
    },
  };
}

export function viewing({
  editor: { store },
  flow,
}: Hands): Some<
  | "fit"
  | "fitSelection"
  | "zoomIn"
  | "zoomOut"
  | "zoomReset"
  | "map"
  | "dock"
  | "panel"
  | "nextRegion"
  | "previousRegion"
  | "palette"
  | "keys"
> {
  const look = (act: () => Promise<boolean>) => () => {
    useStageUi.setState({ fitted: false });
    void act();
  };
  return {
    fit: {
      act: () => {
        useStageUi.setState({ fitted: true });
        void flow.fitView({ ...FIT, duration: duration() });
      },
    },
    fitSelection: {
      act: look(() => {
        const nodes = store.getState().selection.map((id) => ({ id }));
        return flow.fitView({ ...FIT, nodes, duration: duration() });
      }),
      can: chosen,
    },
    zoomIn: { act: look(() => flow.zoomIn({ duration: duration() })) },
    zoomOut: { act: look(() => flow.zoomOut({ duration: duration() })) },
    zoomReset: { act: look(() => flow.zoomTo(1, { duration: duration() })) },
    map: { act: () => useView.getState().set({ mapOpen: !useView.getState().mapOpen }) },
    dock: {
      act: () => {
        const open = useView.getState().dockOpen ?? store.getState().runId !== null;
        useView.getState().set({ dockOpen: !open });
      },
    },
    panel: { act: () => useView.getState().set({ panelOpen: !useView.getState().panelOpen }) },
    nextRegion: { act: () => focusRegion(1) },
    previousRegion: { act: () => focusRegion(-1) },
    palette: { act: () => useStageUi.setState({ paletteOpen: true }) },
    keys: { act: () => useStageUi.setState({ keysOpen: true }) },
  };
}
