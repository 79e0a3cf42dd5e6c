import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { placeBridge } from "./placing";
import { useEditor } from "./store/editor";
import { useStageUi } from "./store/stage-ui";
import { focusNode } from "./use-node-keys";
import { useWords } from "./words";

/** A wire was let go over a port that refuses it: why, and the node that would make it fit. */
export function RefusedCard() {
  const { t } = useTranslation("editor");
  const { store } = useEditor();
  const words = useWords();
  const refused = useStageUi((state) => state.refused);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (refused === null) return;
    const close = () => useStageUi.setState({ refused: null });
    const outside = (event: PointerEvent) => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) close();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
    };
    document.addEventListener("pointerdown", outside, true);
    document.addEventListener("keydown", onKey, true);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      document.removeEventListener("keydown", onKey, true);
    };
  }, [refused]);
  if (refused === null) return null;
  const { at, bridge, edge, text } = refused;
  return (
    <div
      ref={box}
      className="refused"
      role="alertdialog"
      aria-label={t("refusedTitle")}
      style={{
        left: Math.min(at.x + 12, window.innerWidth - 340),
        top: Math.min(at.y + 12, window.innerHeight - 130),
      }}
    >
      <div className="row">
        <span className="bad">
          <Icon name="failed" />
        </span>
        <p className="grow">{text}</p>
        <IconButton
          icon="close"
          size="s"
          label={t("close", { ns: "common" })}
          onPress={() => useStageUi.setState({ refused: null })}
        />
      </div>
      {bridge !== null && (
        <Button
          autoFocus
          icon="plus"
          onPress={() => {
            useStageUi.setState({ refused: null });
            focusNode(placeBridge(store, bridge, edge));
          }}
        >
          {t("putBetween", { title: words.title(bridge.entry.definition) })}
        </Button>
      )}
    </div>
  );
}
