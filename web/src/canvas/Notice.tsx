import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useRunView } from "./store/run-view";
import { useStageUi } from "./store/stage-ui";

const ICON = { bad: "failed", warn: "warning", live: "info" } as const;

/** A run may start at once: what was said of it must be readable first. */
const LEAST_MS = 4_000;

/** What could not be done, or what was done elsewhere; stays until it is dismissed. */
export function Notice() {
  const { t } = useTranslation("canvas");
  const notice = useStageUi((state) => state.notice);
  const run = useRunView();
  const queued = notice?.queued;
  const started = queued !== undefined && run?.runId === queued.runId && run.state !== "queued";
  useEffect(() => {
    if (!started || queued === undefined) return;
    const left = Math.max(0, queued.since + LEAST_MS - Date.now());
    const timer = window.setTimeout(() => useStageUi.setState({ notice: null }), left);
    return () => window.clearTimeout(timer);
  }, [started, queued]);
  if (notice === null) return null;
  return (
    <div className={`note ${notice.tone} notice`} role={notice.tone === "bad" ? "alert" : "status"}>
      <Icon name={ICON[notice.tone]} />
      <span className="grow">
        <span className="strong">{notice.text}</span> {notice.detail}
        {queued !== undefined && (
          <>
            {" "}
            <Link className="link" href={`/runs/${queued.runId}`}>
              {t("openRunPage")}
            </Link>
          </>
        )}
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
