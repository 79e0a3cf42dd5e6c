import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Input } from "react-aria-components/Input";
import { SearchField } from "react-aria-components/SearchField";
import { useTranslation } from "react-i18next";
import { logUrl, useLog } from "../api";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Button, buttonClass } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useWindow } from "../ui/use-window";
import "./console.css";

const LINE_HEIGHT = 18;
/** Closer to the end than this, the view stays at the end. */
const STICKY_PX = 24;

interface Props {
  runId: string;
  /** Whether more may come. */
  live: boolean;
  /** Without its own heading, for a dock that has one. */
  bare?: boolean;
}

/** The output of a run: follows the end while it is in view, finds text, can be downloaded whole. */
export function ConsoleView({ runId, live, bare = false }: Props) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const word = useReason();
  const { log, loading, error } = useLog(runId, live);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const needle = query.toLowerCase();
  const hits = useMemo(
    () =>
      needle === "" ? [] : log.lines.flatMap((line, i) => (line.toLowerCase().includes(needle) ? [i] : [])),
    [log.lines, needle],
  );
  const hit = hits.length > 0 ? (hits[at % hits.length] ?? null) : null;
  const next = (event: KeyboardEvent) => {
    if (event.key === "Enter") setAt((n) => n + (event.shiftKey ? Math.max(0, hits.length - 1) : 1));
  };
  return (
    <section className={bare ? "console-view" : "card console-view"} aria-label={t("console")}>
      <div className={bare ? "console-head" : "card-head console-head"}>
        {!bare && <span>{t("console")}</span>}
        <span className="text-12 ink-3 grow console-count">
          {t("consoleLines", {
            count: log.lines.length,
            number: format.count(log.lines.length + log.dropped),
          })}
          {t("comma")}
          {live ? t("consoleLive") : t("consoleComplete")}
        </span>
        {needle !== "" && (
          <span className="text-12 ink-2 nowrap" role="status">
            {t("matches", { count: hits.length, number: format.count(hits.length) })}
          </span>
        )}
        <SearchField
          aria-label={t("findLabel")}
          className="field console-find"
          value={query}
          onChange={(value) => {
            setQuery(value);
            setAt(0);
          }}
        >
          <Icon name="search" />
          <Input placeholder={t("find")} onKeyDown={next} />
        </SearchField>
        <a
          className={buttonClass("ghost", "s", true)}
          href={logUrl(runId)}
          download={`${runId}.log`}
          aria-label={t("downloadLog")}
          title={t("downloadLog")}
        >
          <Icon name="download" />
        </a>
      </div>
      {error && (
        <p className="note warn console-note" role="alert">
          <Icon name="warning" />
          {word(error)}
        </p>
      )}
      {log.dropped > 0 && (
        <p className="note console-note">
          {t("consoleDropped", { count: log.dropped, number: format.count(log.dropped) })}
        </p>
      )}
      {log.lines.length === 0 ? (
        <p className="console-empty ink-3 text-12">
          {loading ? t("common:loading") : t(live ? "consoleEmpty" : "consoleEmptyEnded")}
        </p>
      ) : (
        <Lines lines={log.lines} hit={hit} needle={needle} />
      )}
    </section>
  );
}

function Lines({ lines, hit, needle }: { lines: readonly string[]; hit: number | null; needle: string }) {
  const { t } = useTranslation("runs");
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const view = useWindow(box, LINE_HEIGHT, lines.length);
  const count = lines.length;

  // biome-ignore lint/correctness/useExhaustiveDependencies: every new line moves the end
  useLayoutEffect(() => {
    const element = box.current;
    if (element && following) element.scrollTop = element.scrollHeight;
  }, [count, following]);

  useEffect(() => {
    const element = box.current;
    if (!element || hit === null) return;
    setFollowing(false);
    element.scrollTop = Math.max(0, hit * LINE_HEIGHT - element.clientHeight / 2);
  }, [hit]);

  const onScroll = useCallback(() => {
    const element = box.current;
    if (!element) return;
    setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < STICKY_PX);
  }, []);

  return (
    <div className="console-box">
      <div
        className="console console-lines"
        ref={box}
        onScroll={onScroll}
        role="log"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard
        tabIndex={0}
      >
        <div style={{ height: view.before }} />
        {lines.slice(view.first, view.end).map((line, i) => (
          <div
            // Lines never move, so their place is their identity.
            // biome-ignore lint/suspicious/noArrayIndexKey: see above
            key={view.first + i}
            className={view.first + i === hit ? "console-line hit" : "console-line"}
          >
            {needle === "" ? line || " " : <Marked line={line} needle={needle} />}
          </div>
        ))}
        <div style={{ height: view.after }} />
      </div>
      {!following && (
        <Button size="s" icon="down" className="console-end" onPress={() => setFollowing(true)}>
          {t("toEnd")}
        </Button>
      )}
    </div>
  );
}

function Marked({ line, needle }: { line: string; needle: string }) {
  const at = line.toLowerCase().indexOf(needle);
  if (at < 0) return line || " ";
  return (
    <>
      {line.slice(0, at)}
      <mark>{line.slice(at, at + needle.length)}</mark>
      {line.slice(at + needle.length)}
    </>
  );
}
