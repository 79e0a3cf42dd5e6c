import { useEffect } from "react";
import { copiedText } from "../clipboard";
import { useEditor } from "../store/editor";
import { useStageUi } from "../store/stage-ui";
import { useView } from "../store/view";
import { type CommandName, commandFor } from "./list";
import { useCommands } from "./use-commands";

/** In a field only what no field needs is a shortcut. */
const IN_FIELDS: ReadonlySet<CommandName> = new Set([
  "run",
  "queue",
  "palette",
  "nextRegion",
  "previousRegion",
]);

const FIELDS = "input, textarea, select, [contenteditable=true], [role=textbox]";

/** Leads keys and the clipboard's events to the commands. Used once, by the page. */
export function useKeyboard(): void {
  const { store } = useEditor();
  const { act, pasteText } = useCommands();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const command = commandFor(event, useView.getState().letters);
      if (command === undefined) return;
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest("[role=dialog], [role=menu], [role=listbox]")) return;
      const typing = target?.closest(FIELDS) ?? null;
      if (typing !== null && !IN_FIELDS.has(command.name)) return;
      event.preventDefault();
      // A field tells its value when it loses the focus: what is typed belongs to the run that is started now.
      if (typing instanceof HTMLElement && command.group === "running") typing.blur();
      act(command.name);
    };
    /** Whether the event belongs to text: in a field, in a dialog, or when text is selected. */
    const ofText = (event: ClipboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.activeElement;
      if (target?.closest(`${FIELDS}, [role=dialog]`)) return true;
      return event.type !== "paste" && (window.getSelection()?.toString() ?? "") !== "";
    };
    const onCopy = (event: ClipboardEvent) => {
      if (event.defaultPrevented || ofText(event)) return;
      const text = copiedText(store);
      if (text === null || event.clipboardData === null) return;
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
      if (event.type === "cut") useStageUi.getState().removeChosen();
    };
    const onPaste = (event: ClipboardEvent) => {
      if (event.defaultPrevented || ofText(event)) return;
      event.preventDefault();
      pasteText(event.clipboardData?.getData("text/plain") ?? "");
    };
    document.addEventListener("keydown", onKeyDown);
    document.addEventListener("copy", onCopy);
    document.addEventListener("cut", onCopy);
    document.addEventListener("paste", onPaste);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      document.removeEventListener("copy", onCopy);
      document.removeEventListener("cut", onCopy);
      document.removeEventListener("paste", onPaste);
    };
  }, [store, act, pasteText]);
}
