import { useLayoutEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { type LogView, logUrl } from "../../api";
import type { RunView } from "../store/run-view";

/** Lines shown at once; the whole log is one click away. */
const SHOWN = 2000;

export function Console({ run, log }: { run: RunView | null; log: LogView }) {
  const { t } = useTranslation("canvas");
  const box = useRef<HTMLPreElement>(null);
  const following = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines scroll into view as long as the end was in view
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && following.current) element.scrollTop = element.scrollHeight;
  }, [log]);
  if (run === null) return <p className="dock-empty">{t("consoleNoRun")}</p>;
  if (log.lines.length === 0) {
    return <p className="dock-empty">{t(run.active ? "consoleNotYet" : "consoleNone")}</p>;
  }
  const hidden = log.dropped + Math.max(0, log.lines.length - SHOWN);
  return (
    <pre
      ref={box}
      className="console"
      role="log"
      aria-label={t("dock.console")}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled with the keyboard
      tabIndex={0}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        following.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {hidden > 0 && (
        <a className="link" href={logUrl(run.runId)} target="_blank" rel="noreferrer">
          {t("earlierLines", { count: hidden })}
          {"\n"}
        </a>
      )}
      {log.lines.slice(-SHOWN).join("\n")}
    </pre>
  );
}
