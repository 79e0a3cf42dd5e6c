import { useRef } from "react";
import { useTranslation } from "react-i18next";
import { useEditor } from "../store/editor";
import { scopeOf } from "../store/graph-store";
import { useStageUi } from "../store/stage-ui";
import { useTyping } from "./use-typing";

interface TitleProps {
  id: string;
  title: string;
  label: string;
}

/** The title, or a field for it while it is being changed. */
/** The title, or a field for it while it is being changed. */
export function NodeTitle(props: TitleProps) {
  const typing = useStageUi((state) => state.renaming === props.id);
  return typing ? <TitleField {...props} /> : <span className="node-title">{props.title}</span>;
}

function TitleField({ id, title, label }: TitleProps) {
  const { t } = useTranslation("editor");
  const { store } = useEditor();
  const field = useRef<HTMLInputElement>(null);
  useTyping(field);
  const finish = (text: string | null) => {
    if (useStageUi.getState().renaming !== id) return;
    useStageUi.setState({ renaming: null });
    const state = store.getState();
    if (text !== null) {
      state.perform({ do: "label", scope: scopeOf(state), node: id, label: text.trim() });
    }
    field.current?.closest<HTMLElement>("[data-node]")?.focus();
  };
  return (
    <input
      ref={field}
      className="node-name nodrag"
      aria-label={t("nameOf", { title })}
      defaultValue={label === "" ? title : label}
      onBlur={(event) => finish(event.target.value === title && label === "" ? null : event.target.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") event.currentTarget.blur();
        else if (event.key === "Escape") finish(null);
        else return;
        event.preventDefault();
      }}
    />
  );
}
