import { type NodeProps, NodeResizer } from "@xyflow/react";
import { memo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { NoteFlowNode } from "../model/flow";
import { useEditor } from "../store/editor";
import { scopeOf } from "../store/graph-store";
import { useStageUi } from "../store/stage-ui";
import { useNodeKeys } from "../use-node-keys";
import { useTyping } from "./use-typing";

/** Least size of a note and of a frame, px. */
const LEAST = { note: [96, 32], frame: [120, 80] } as const;

/** A comment on the canvas: its first line is its title. */
export const NoteView = memo(function NoteView({ id, data, selected }: NodeProps<NoteFlowNode>) {
  const { t } = useTranslation("editor");
  const typing = useStageUi((state) => state.renaming === id);
  const keys = useNodeKeys(id);
  const { note } = data;
  const [title = "", ...rest] = note.text.split("\n");
  const name = t(note.kind === "frame" ? "frameNamed" : "noteNamed", { text: title || t("untitledNote") });
  return (
    <>
      <Resizer id={id} kind={note.kind} selected={selected} />
      <section
        className={`${note.kind === "frame" ? "canvas-frame" : "canvas-note"}${selected ? " on" : ""}`}
        aria-label={name}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: notes are reached and moved with the keyboard
        tabIndex={0}
        data-node={id}
        {...keys}
        onDoubleClick={(event) => {
          event.stopPropagation();
          useStageUi.setState({ renaming: id });
        }}
      >
        {typing ? (
          <NoteField id={id} text={note.text} label={name} />
        ) : (
          <>
            <p className="canvas-note-title">{title || <span className="ink-3">{t("untitledNote")}</span>}</p>
            {rest.length > 0 && <p className="canvas-note-text">{rest.join("\n")}</p>}
          </>
        )}
      </section>
    </>
  );
});

function NoteField({ id, text, label }: { id: string; text: string; label: string }) {
  const { store } = useEditor();
  const { t } = useTranslation("editor");
  const field = useRef<HTMLTextAreaElement>(null);
  useTyping(field);
  const finish = (next: string | null) => {
    if (useStageUi.getState().renaming !== id) return;
    useStageUi.setState({ renaming: null });
    const state = store.getState();
    if (next !== null && next !== text) {
      state.perform({ do: "note", scope: scopeOf(state), note: id, change: { text: next } });
    }
    field.current?.closest<HTMLElement>("[data-node]")?.focus();
  };
  return (
    <textarea
      ref={field}
      className="canvas-note-field nodrag nowheel"
      aria-label={label}
      placeholder={t("noteHint")}
      defaultValue={text}
      onBlur={(event) => finish(event.target.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") finish(null);
        else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.blur();
        else return;
        event.preventDefault();
      }}
    />
  );
}

function Resizer({ id, kind, selected }: { id: string; kind: "note" | "frame"; selected: boolean }) {
  const { store } = useEditor();
  const [minWidth, minHeight] = LEAST[kind];
  return (
    <NodeResizer
      isVisible={selected}
      minWidth={minWidth}
      minHeight={minHeight}
      lineClassName="canvas-note-edge"
      handleClassName="canvas-note-corner"
      onResizeEnd={(_, box) => {
        const state = store.getState();
        state.perform({
          do: "note",
          scope: scopeOf(state),
          note: id,
          change: {
            position: { x: Math.round(box.x), y: Math.round(box.y) },
            size: { width: Math.round(box.width), height: Math.round(box.height) },
          },
        });
      }}
    />
  );
}
