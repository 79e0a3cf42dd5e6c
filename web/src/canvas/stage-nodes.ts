import {
  applyNodeChanges,
  type EdgeChange,
  type NodeChange,
  type OnNodeDrag,
  useReactFlow,
} from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { boxesOf } from "./commands/acts";
import { inside } from "./model/arrange";
import type { Point } from "./model/document";
import { type FlowEdge, type FlowNode, toFlowEdges, toFlowNodes } from "./model/flow";
import { useEditor, useGraph } from "./store/editor";
import { currentLevel, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";

/**
 * The nodes and wires on the screen. The document leads; what is only on the screen (measures, a drag under way, selected
 * wires) lives here.
 */
export function useStageNodes() {
  const { store } = useEditor();
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const level = useGraph(currentLevel);
  const depth = useGraph((state) => state.trail.length);
  const selection = useGraph((state) => state.selection);
  const [nodes, setNodes] = useState<FlowNode[]>(() => toFlowNodes(level, []));
  const [edges, setEdges] = useState<FlowEdge[]>(() => toFlowEdges(level, []));
  const [wires, setWires] = useState<ReadonlySet<string>>(new Set());
  const drawn = useRef(level);
  /** What a frame that is being dragged takes along, and where it all began. */
  const carried = useRef<{ frame: string; from: Point; places: ReadonlyMap<string, Point> }[]>([]);

  if (drawn.current !== level) {
    drawn.current = level;
    setNodes((before) => toFlowNodes(level, before));
    setEdges((before) => toFlowEdges(level, before));
  }

  const chosen = useMemo(() => new Set(selection), [selection]);
  const marked = useRef(new WeakMap<FlowNode, FlowNode>());
  const shownNodes = useMemo(
    () =>
      nodes.map((node) => {
        if ((node.selected ?? false) === chosen.has(node.id)) return node;
        // The same object as in the frame before, so that only what moved is drawn again.
        let shown = marked.current.get(node);
        if (shown === undefined || shown.selected !== chosen.has(node.id)) {
          shown = { ...node, selected: chosen.has(node.id) };
          marked.current.set(node, shown);
        }
        return shown;
      }),
    [nodes, chosen],
  );
  const shownEdges = useMemo(
    () =>
      wires.size === 0
        ? edges
        : edges.map((edge) => (wires.has(edge.id) ? { ...edge, selected: true } : edge)),
    [edges, wires],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: the wires of another level are not selected
  useEffect(() => setWires(new Set()), [depth]);

  const onNodesChange = useCallback(
    (changes: NodeChange<FlowNode>[]) => {
      const own = changes.filter((change) => change.type === "dimensions" || change.type === "position");
      if (own.length > 0) setNodes((before) => applyNodeChanges(own, before));
      const selects = changes.filter((change) => change.type === "select");
      if (selects.length > 0) {
        const next = new Set(store.getState().selection);
        for (const change of selects) {
          if (change.selected) next.add(change.id);
          else next.delete(change.id);
        }
        store.getState().select([...next]);
      }
    },
    [store],
  );

  const onEdgesChange = useCallback((changes: EdgeChange<FlowEdge>[]) => {
    const selects = changes.filter((change) => change.type === "select");
    if (selects.length === 0) return;
    setWires((before) => {
      const next = new Set(before);
      for (const change of selects) {
        if (change.selected) next.add(change.id);
        else next.delete(change.id);
      }
      return next;
    });
  }, []);

  const onDragStart = useCallback(
    (dragged: readonly FlowNode[]) => {
      const moving = new Set(dragged.map((node) => node.id));
      const boxes = boxesOf(flow);
      carried.current = dragged
        .filter((node) => node.type === "frame")
        .map((frame) => {
          const box = boxes.find((one) => one.id === frame.id);
          const held = box === undefined ? [] : inside(boxes, box);
          const places = new Map<string, Point>();
          for (const id of held) {
            if (moving.has(id)) continue;
            moving.add(id);
            const node = flow.getNode(id);
            if (node !== undefined) places.set(id, node.position);
          }
          return { frame: frame.id, from: frame.position, places };
        });
    },
    [flow],
  );

  const onDrag = useCallback((dragged: readonly FlowNode[]) => {
    const moved = carriedPlaces(carried.current, dragged);
    if (moved.size === 0) return;
    setNodes((before) =>
      before.map((node) => {
        const to = moved.get(node.id);
        return to === undefined ? node : { ...node, position: to };
      }),
    );
  }, []);

  const onDragStop = useCallback(
    (dragged: readonly FlowNode[]) => {
      const state = store.getState();
      const positions: Record<string, Point> = {};
      const put = (id: string, { x, y }: Point) => {
        positions[id] = { x: Math.round(x), y: Math.round(y) };
      };
      for (const node of dragged) put(node.id, node.position);
      for (const [id, place] of carriedPlaces(carried.current, dragged)) put(id, place);
      carried.current = [];
      state.perform({ do: "move", scope: scopeOf(state), positions });
    },
    [store],
  );

  const onNodeDragStart = useCallback<OnNodeDrag<FlowNode>>(
    (_, _node, all) => onDragStart(all),
    [onDragStart],
  );
  const onNodeDrag = useCallback<OnNodeDrag<FlowNode>>((_, _node, all) => onDrag(all), [onDrag]);
  const onNodeDragStop = useCallback<OnNodeDrag<FlowNode>>((_, _node, all) => onDragStop(all), [onDragStop]);

  const onSelectionDragStart = useCallback(
    (_: React.MouseEvent, all: FlowNode[]) => onDragStart(all),
    [onDragStart],
  );
  const onSelectionDrag = useCallback((_: React.MouseEvent, all: FlowNode[]) => onDrag(all), [onDrag]);
  const onSelectionDragStop = useCallback(
    (_: React.MouseEvent, all: FlowNode[]) => onDragStop(all),
    [onDragStop],
  );

  const removeChosen = useCallback(() => {
    const state = store.getState();
    const focused = document.activeElement?.closest<HTMLElement>("[data-node]")?.dataset.node;
    const some = state.selection.length > 0 || wires.size > 0;
    const ids = some || focused === undefined ? state.selection : [focused];
    if (ids.length === 0 && wires.size === 0) return;
    state.perform({ do: "remove", scope: scopeOf(state), nodes: ids, edges: [...wires] });
    setWires(new Set());
  }, [store, wires]);

  useEffect(() => {
    useStageUi.setState({ removeChosen });
  }, [removeChosen]);

  return {
    nodes: shownNodes,
    edges: shownEdges,
    onNodesChange,
    onEdgesChange,
    onNodeDragStart,
    onNodeDrag,
    onNodeDragStop,
    onSelectionDragStart,
    onSelectionDrag,
    onSelectionDragStop,
  };
}

function carriedPlaces(
  carried: readonly { frame: string; from: Point; places: ReadonlyMap<string, Point> }[],
  dragged: readonly FlowNode[],
): Map<string, Point> {
  const moved = new Map<string, Point>();
  for (const { frame, from, places } of carried) {
    const now = dragged.find((node) => node.id === frame)?.position;
    if (now === undefined) continue;
    for (const [id, place] of places) {
      moved.set(id, { x: place.x + now.x - from.x, y: place.y + now.y - from.y });
    }
  }
  return moved;
}
