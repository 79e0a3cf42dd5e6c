import { useTranslation } from "react-i18next";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useStageUi } from "./store/stage-ui";

const ICON = { bad: "failed", warn: "warning", live: "info" } as const;

/** What could not be done, or what was done elsewhere; stays until it is dismissed. */
export function Notice() {
  const { t } = useTranslation("canvas");
  const notice = useStageUi((state) => state.notice);
  if (notice === null) return null;
  return (
    <div className={`note ${notice.tone} notice`} role={notice.tone === "bad" ? "alert" : "status"}>
      <Icon name={ICON[notice.tone]} />
      <span className="grow">
        <span className="strong">{notice.text}</span> {notice.detail}
      </span>
      <IconButton
        icon="close"
        size="s"
        label={t("dismiss")}
        onPress={() => useStageUi.setState({ notice: null })}
      />
    </div>
  );
}
