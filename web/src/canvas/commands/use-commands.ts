// What the commands do. Each is there for the keyboard, the palette, the menus and the buttons alike.
import { useReactFlow } from "@xyflow/react";
import { createContext, useContext, useLayoutEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { notices } from "../../notices/notices";
import { CannotPaste, copiedText, paste } from "../clipboard";
import type { FlowEdge, FlowNode } from "../model/flow";
import { useRunCommands } from "../run-commands";
import { useEditor } from "../store/editor";
import { pointer } from "../store/pointer";
import { useRun } from "../store/run-view";
import { useStageUi } from "../store/stage-ui";
import { type Acts, arranging, building, grouping, type Hands, viewing } from "./acts";
import type { CommandName } from "./list";

export interface Commands {
  act(name: CommandName): void;
  /** Whether it would do anything now. */
  can(name: CommandName): boolean;
  /** Paste a text as if it came from the clipboard. */
  pasteText(text: string): void;
}

const CommandsContext = createContext<Commands | null>(null);
export const CommandsProvider = CommandsContext.Provider;

export function useCommands(): Commands {
  const commands = useContext(CommandsContext);
  if (commands === null) throw new Error("There are no commands around this component.");
  return commands;
}

/** The commands of the graph in front. Used once, by the page. */
export function useMadeCommands(): Commands {
  const { t } = useTranslation("editor");
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const running = useRunCommands();
  const active = useRun((run) => run?.active === true);
  // The commands stay the same object while a run goes on: buttons need not render again with each of its events.
  const now = useRef({ ...running, active });
  useLayoutEffect(() => {
    now.current = { ...running, active };
  });
  return useMemo(() => {
    const { store } = editor;
    const hands: Hands = { editor, flow, groupName: t("groupName") };
    const pasteText = (text: string) => {
      try {
        paste(editor, text, pointer.at === null ? null : flow.screenToFlowPosition(pointer.at));
      } catch (problem) {
        if (!(problem instanceof CannotPaste)) throw problem;
        const { reason, params } = problem;
        notices.show({
          tone: "warn",
          text: `editor:paste.${reason}`,
          params,
          detail: "editor:paste.kept",
          stays: false,
        });
      }
    };
    const withClipboard = async (work: () => Promise<void>) => {
      try {
        await work();
      } catch {
        notices.show({ tone: "warn", text: "editor:clipboard.blocked", detail: "editor:clipboard.useKeys" });
      }
    };
    const copy = () => {
      const text = copiedText(store);
      if (text !== null) void withClipboard(() => navigator.clipboard.writeText(text));
    };
    const acts: Acts = {
      ...building(hands),
      ...grouping(hands),
      ...arranging(hands),
      ...viewing(hands),
      undo: { act: () => store.getState().undo(), can: (state) => state.history.past.length > 0 },
      redo: { act: () => store.getState().redo(), can: (state) => state.history.future.length > 0 },
      copy: { act: copy, can: (state) => state.selection.length > 0 },
      cut: {
        act: () => {
          copy();
          useStageUi.getState().removeChosen();
        },
        can: (state) => state.selection.length > 0,
      },
      paste: { act: () => void withClipboard(async () => pasteText(await navigator.clipboard.readText())) },
      run: { act: () => now.current.start(), can: () => !now.current.active },
      stop: { act: () => now.current.stop(), can: () => now.current.active },
      queue: { act: () => useStageUi.setState({ queueOpen: true }) },
    };
    return {
      act: (name) => acts[name].act(),
      can: (name) => acts[name].can?.(store.getState()) ?? true,
      pasteText,
    };
  }, [editor, flow, t]);
}
