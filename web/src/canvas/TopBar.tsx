import { useTranslation } from "react-i18next";
import { GraphTabs } from "../tabs/GraphTabs";
import { IconButton } from "../ui/Button";
import { RunControl } from "./RunControl";
import { useEditor, useGraph } from "./store/editor";

export function TopBar({ name }: { name: string }) {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const canUndo = useGraph((state) => state.history.past.length > 0);
  const canRedo = useGraph((state) => state.history.future.length > 0);
  return (
    <header className="topbar">
      <GraphTabs name={name} />
      <span className="grow" />
      <span className="row topbar-history">
        <IconButton
          icon="undo"
          label={t("undo")}
          keys="Ctrl Z"
          isDisabled={!canUndo}
          onPress={() => store.getState().undo()}
        />
        <IconButton
          icon="redo"
          label={t("redo")}
          keys="Ctrl Shift Z"
          isDisabled={!canRedo}
          onPress={() => store.getState().redo()}
        />
      </span>
      <RunControl />
    </header>
  );
}
