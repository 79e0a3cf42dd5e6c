import { useReactFlow, useStoreApi } from "@xyflow/react";
import { useEffect } from "react";
import { useGraph } from "./store/editor";
import { useView } from "./store/view";

const MARGIN = 24;

/** When the panel opens beside the canvas, pan just so far that the selected node stays visible. */
export function useKeepInSight(): void {
  const flow = useReactFlow();
  const api = useStoreApi();
  const selected = useGraph((state) => (state.selection.length === 1 ? (state.selection[0] ?? null) : null));
  const panelOpen = useView((state) => state.panelOpen);
  useEffect(() => {
    if (selected === null || !panelOpen) return;
    const frame = requestAnimationFrame(() => {
      const node = flow.getInternalNode(selected);
      if (node === undefined) return;
      const { x, y, zoom } = flow.getViewport();
      const { width, height } = api.getState();
      const left = node.internals.positionAbsolute.x * zoom + x;
      const top = node.internals.positionAbsolute.y * zoom + y;
      const right = left + (node.measured.width ?? 0) * zoom;
      const bottom = top + (node.measured.height ?? 0) * zoom;
      const dx = shift(left, right, width);
      const dy = shift(top, bottom, height);
      if (dx !== 0 || dy !== 0) {
        void flow.setViewport({ x: x + dx, y: y + dy, zoom }, { duration: reducedMotion() ? 0 : 160 });
      }
    });
    return () => cancelAnimationFrame(frame);
  }, [flow, api, selected, panelOpen]);
}

function shift(from: number, to: number, size: number): number {
  if (to - from > size - 2 * MARGIN) return MARGIN - from;
  if (from < MARGIN) return MARGIN - from;
  return to > size - MARGIN ? size - MARGIN - to : 0;
}

export function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
