import { type KeyboardEvent, useMemo } from "react";
import { findNode, notesOf, type Point, scopeBehind } from "./model/document";
import { useEditor } from "./store/editor";
import { currentLevel, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";

const STEP = 20;

const ARROWS: Record<string, { x: number; y: number }> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/** Frames to wait for a node that was just added: it can take the focus once it is drawn. */
const MOST_FRAMES = 60;

/** Put the keyboard's focus on a node. */
export function focusNode(id: string, frames = MOST_FRAMES): void {
  const element = [...document.querySelectorAll<HTMLElement>("[data-node]")].find(
    (candidate) => candidate.dataset.node === id,
  );
  // Its name may be being typed already.
  if (element?.contains(document.activeElement) === true && document.activeElement !== element) return;
  element?.focus({ preventScroll: true });
  if (frames > 0 && (element === undefined || document.activeElement !== element)) {
    requestAnimationFrame(() => focusNode(id, frames - 1));
  }
}

/** Keys on a focused node: arrows follow wires, Alt with arrows moves it, Enter opens it, Space selects it. */
export function useNodeKeys(id: string): { onKeyDown: (event: KeyboardEvent<HTMLElement>) => void } {
  const { store } = useEditor();
  return useMemo(() => {
    const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
      if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey) return;
      const state = store.getState();
      const level = currentLevel(state);
      const items = [...level.nodes, ...notesOf(level)];
      const node = findNode(level, id);
      if (!items.some((item) => item.id === id)) return;
      const arrow = ARROWS[event.key];
      if (arrow !== undefined && event.altKey) {
        const by = event.shiftKey ? STEP * 5 : STEP;
        const ids = state.selection.includes(id) ? state.selection : [id];
        const positions = Object.fromEntries(
          items
            .filter((other) => ids.includes(other.id))
            .map((other) => [
              other.id,
              { x: other.position.x + arrow.x * by, y: other.position.y + arrow.y * by },
            ]),
        );
        state.perform({ do: "move", scope: scopeOf(state), positions }, `move ${ids.join(" ")}`);
      } else if (arrow !== undefined) {
        const next = neighbour(level, items, id, event.key);
        if (next !== null) focusNode(next);
      } else if (event.key === "Enter") {
        const scope = node === undefined ? null : scopeBehind(node);
        if (node === undefined) {
          useStageUi.setState({ renaming: id });
        } else if (scope !== null) {
          state.open({ node: id, subgraph: scope });
        } else {
          state.select([id]);
          useView.getState().set({ panelOpen: true });
        }
      } else if (event.key === " ") {
        const selected = state.selection.includes(id);
        if (event.shiftKey) {
          state.select(selected ? state.selection.filter((other) => other !== id) : [...state.selection, id]);
        } else {
          state.select(selected && state.selection.length === 1 ? [] : [id]);
        }
      } else if (event.key === "Delete" || event.key === "Backspace") {
        const ids = state.selection.includes(id) ? state.selection : [id];
        state.perform({ do: "remove", scope: scopeOf(state), nodes: ids, edges: [] });
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    };
    return { onKeyDown };
  }, [store, id]);
}

interface Item {
  id: string;
  position: Point;
}

type LevelNow = ReturnType<typeof currentLevel>;

/** Right and left go along wires; up and down to the next node above or below. */
function neighbour(level: LevelNow, items: readonly Item[], id: string, key: string): string | null {
  const node = items.find((item) => item.id === id);
  if (node === undefined) return null;
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const forward = key === "ArrowRight";
    const wire = level.edges.find((edge) => (forward ? edge.source : edge.target) === id);
    if (wire !== undefined) return forward ? wire.target : wire.source;
  }
  const along = key === "ArrowRight" || key === "ArrowLeft" ? "x" : "y";
  const across = along === "x" ? "y" : "x";
  const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  let best: { id: string; cost: number } | null = null;
  for (const other of items) {
    const ahead = (other.position[along] - node.position[along]) * sign;
    if (ahead <= 0) continue;
    const cost = ahead + 2 * Math.abs(other.position[across] - node.position[across]);
    if (best === null || cost < best.cost) best = { id: other.id, cost };
  }
  return best?.id ?? null;
}
