import { useTranslation } from "react-i18next";
import { Dialog } from "../ui/Dialog";
import { shortcuts } from "./shortcuts";
import { useStageUi } from "./store/stage-ui";

/** Every shortcut of the canvas. */
export default function KeysDialog() {
  const { t } = useTranslation("canvas");
  const open = useStageUi((state) => state.keysOpen);
  return (
    <Dialog
      title={t("keys.title")}
      open={open}
      onClose={() => useStageUi.setState({ keysOpen: false })}
      width={460}
    >
      <dl className="keys">
        {shortcuts.map((shortcut) => (
          <div key={shortcut.name}>
            <dt>{t(`keys.${shortcut.name}`)}</dt>
            <dd>
              <span className="kbd">{shortcut.shown}</span>
            </dd>
          </div>
        ))}
        {(["follow", "moveNode", "open"] as const).map((name) => (
          <div key={name}>
            <dt>{t(`keys.${name}`)}</dt>
            <dd>
              <span className="kbd">{{ follow: "← → ↑ ↓", moveNode: "Alt ← → ↑ ↓", open: "↵" }[name]}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
