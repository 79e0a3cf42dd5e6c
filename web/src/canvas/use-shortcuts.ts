import { useReactFlow } from "@xyflow/react";
import { useEffect } from "react";
import { FIT } from "./fit";
import { duplicate } from "./model/commands";
import { useRunCommands } from "./run-commands";
import { type ShortcutName, shortcutOf } from "./shortcuts";
import { useEditor } from "./store/editor";
import { currentLevel, documentOf, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { reducedMotion } from "./use-keep-in-sight";

/** In a field only what no field needs is a shortcut. */
const IN_FIELDS: ReadonlySet<ShortcutName> = new Set(["run", "queue"]);

export function useShortcuts(): void {
  const { store } = useEditor();
  const flow = useReactFlow();
  const { start } = useRunCommands();
  useEffect(() => {
    const act: Record<ShortcutName, () => void> = {
      add: () => useStageUi.getState().openSearch({ at: null, wire: null }),
      library: () => useView.getState().set({ libraryOpen: !useView.getState().libraryOpen }),
      run: start,
      queue: () => useStageUi.setState({ queueOpen: true }),
      undo: () => store.getState().undo(),
      redo: () => store.getState().redo(),
      duplicate: () => {
        const state = store.getState();
        if (state.selection.length === 0) return;
        const made = duplicate(documentOf(state), scopeOf(state), state.selection, { x: 32, y: 32 });
        state.perform(made.command);
        store.getState().select(made.ids);
      },
      selectAll: () => {
        const state = store.getState();
        state.select(currentLevel(state).nodes.map((node) => node.id));
      },
      delete: () => useStageUi.getState().removeChosen(),
      fit: () => {
        useStageUi.setState({ fitted: true });
        void flow.fitView({ ...FIT, duration: reducedMotion() ? 0 : 160 });
      },
      dock: () => {
        const open = useView.getState().dockOpen ?? store.getState().runId !== null;
        useView.getState().set({ dockOpen: !open });
      },
      panel: () => useView.getState().set({ panelOpen: !useView.getState().panelOpen }),
      up: () => {
        const state = store.getState();
        if (state.selection.length > 0) state.select([]);
        else if (state.trail.length > 0) state.leave(state.trail.length - 1);
      },
      all: () => useStageUi.setState({ keysOpen: true }),
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const shortcut = shortcutOf(event);
      if (shortcut === undefined) return;
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest("[role=dialog], [role=menu], [role=listbox]") !== null && target !== null) return;
      const typing = target?.closest("input, textarea, select, [contenteditable=true]") ?? null;
      if (typing !== null && !IN_FIELDS.has(shortcut.name)) return;
      event.preventDefault();
      // A field tells its value when it loses the focus: what is typed belongs to the run that is started now.
      if (typing instanceof HTMLElement) typing.blur();
      act[shortcut.name]();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [store, flow, start]);
}
