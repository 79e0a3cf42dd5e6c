import { useNodesInitialized, useReactFlow, useStore, useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { FIT, FIT_BELOW_TRAIL } from "./fit";
import { useGraph } from "./store/editor";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";

const MARGIN = 24;

/** Show the whole graph when it opens, and as long as nobody moved the canvas, whenever its room changes. */
export function useKeepFitted(depth: number): void {
  const flow = useReactFlow();
  const measured = useNodesInitialized();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another level is another picture
  useEffect(() => useStageUi.setState({ fitted: true }), [depth]);
  const last = useRef("");
  useEffect(() => {
    // Other nodes are no reason: the canvas must not jump while someone edits.
    const room = `${depth} ${width} ${height}`;
    if (!measured || width === 0 || room === last.current || !useStageUi.getState().fitted) return;
    last.current = room;
    let frame = 0;
    const fit = () => {
      // The nodes of a level that was just opened are measured a moment later.
      if (flow.getNodes().some((node) => node.measured?.width === undefined)) {
        frame = requestAnimationFrame(fit);
      } else {
        void flow.fitView(depth > 0 ? FIT_BELOW_TRAIL : FIT);
      }
    };
    frame = requestAnimationFrame(fit);
    return () => cancelAnimationFrame(frame);
  }, [flow, measured, width, height, depth]);
}

/** When the panel opens beside the canvas, pan just so far that the selected node stays visible. */
export function useKeepInSight(): void {
  const flow = useReactFlow();
  const api = useStoreApi();
  const selected = useGraph((state) => (state.selection.length === 1 ? (state.selection[0] ?? null) : null));
  const panelOpen = useView((state) => state.panelOpen);
  const width = useStore((state) => state.width);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the room changes when the panel opens
  useEffect(() => {
    if (selected === null || !panelOpen || useStageUi.getState().fitted) return;
    const frame = requestAnimationFrame(() => {
      const node = flow.getInternalNode(selected);
      if (node === undefined) return;
      const { x, y, zoom } = flow.getViewport();
      const room = api.getState();
      const left = node.internals.positionAbsolute.x * zoom + x;
      const top = node.internals.positionAbsolute.y * zoom + y;
      const right = left + (node.measured.width ?? 0) * zoom;
      const bottom = top + (node.measured.height ?? 0) * zoom;
      const dx = shift(left, right, room.width);
      const dy = shift(top, bottom, room.height);
      if (dx !== 0 || dy !== 0) {
        void flow.setViewport({ x: x + dx, y: y + dy, zoom }, { duration: reducedMotion() ? 0 : 160 });
      }
    });
    return () => cancelAnimationFrame(frame);
  }, [flow, api, selected, panelOpen, width]);
}

function shift(from: number, to: number, size: number): number {
  if (to - from > size - 2 * MARGIN) return MARGIN - from;
  if (from < MARGIN) return MARGIN - from;
  return to > size - MARGIN ? size - MARGIN - to : 0;
}

export function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
