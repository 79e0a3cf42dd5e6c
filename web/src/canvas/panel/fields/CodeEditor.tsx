import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

interface Props {
  label: string;
  value: string;
  /** Coloured as Python; else plain text. */
  isPython: boolean;
  describedBy: string | undefined;
  onChange: (text: string) => void;
}

// The colours of the data types, which hold their contrast in both themes; keywords are told by weight as well.
const highlight = HighlightStyle.define([
  {
    tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword],
    color: "var(--t-optim)",
    fontWeight: "600",
  },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--t-tensor)" },
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
  {
    tag: [tags.function(tags.variableName), tags.definition(tags.variableName)],
    color: "var(--ink)",
    fontWeight: "600",
  },
  { tag: tags.className, color: "var(--ink)", fontWeight: "600" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

/** An editor of a script. Tab leaves it, as every other field; the text is told letter by letter. */
export default function CodeEditor({ label, value, isPython, describedBy, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const tell = useRef(onChange);
  tell.current = onChange;
  const first = useRef(value);

  useEffect(() => {
    if (host.current === null) return;
    const made = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          drawSelection(),
          lineNumbers(),
          highlightActiveLine(),
          bracketMatching(),
          indentOnInput(),
          indentUnit.of("    "),
          isPython ? python() : EditorView.lineWrapping,
          syntaxHighlighting(highlight),
          EditorView.contentAttributes.of({
            "aria-label": label,
            ...(describedBy === undefined ? {} : { "aria-describedby": describedBy }),
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) tell.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      first.current = made.state.doc.toString();
      made.destroy();
      view.current = null;
    };
  }, [label, isPython, describedBy]);

  // Undo, another tab or the default button changed it from outside.
  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={host} className="code-editor" />;
}
