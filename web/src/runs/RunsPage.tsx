import { useDeferredValue, useEffect, useMemo, useRef } from "react";
import { Button as AriaButton } from "react-aria-components/Button";
import { Group } from "react-aria-components/Group";
import { Input } from "react-aria-components/Input";
import { SearchField } from "react-aria-components/SearchField";
import { useTranslation } from "react-i18next";
import { Link, useSearchParams } from "wouter";
import { useConnectionState } from "../api";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Button, buttonClass } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { isState, type StateName } from "../ui/StateMark";
import { useWindow } from "../ui/use-window";
import { RunRow } from "./RunRow";
import "./runs.css";
import { matches } from "./run-list";
import { type RunListState, useRunList } from "./use-run-list";

const ROW_HEIGHT = 45;
const HEAD_HEIGHT = 32;

/** Always shown, so that they keep their place; the others come when there is such a run. */
const CHIPS: readonly { status: StateName; always: boolean }[] = [
  { status: "running", always: true },
  { status: "queued", always: true },
  { status: "disconnected", always: false },
  { status: "succeeded", always: true },
  { status: "failed", always: true },
  { status: "cancelled", always: true },
  { status: "interrupted", always: false },
];

export default function RunsPage() {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const [search, setSearch] = useSearchParams();
  const asked = search.get("status") ?? "";
  const status = isState(asked) ? asked : null;
  const text = search.get("q") ?? "";
  const list = useRunList(status);
  const all = Object.values(list.counts).reduce((sum, count) => sum + count, 0);
  const set = (name: string, value: string) =>
    setSearch(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: name === "q" },
    );
  return (
    <main className="page">
      <div className="page-head">
        <h1>{t("title")}</h1>
        {list.counted && (
          <span className="ink-3 runs-total">{t("inAll", { number: format.count(all) })}</span>
        )}
        <span className="grow" />
        <Live />
      </div>
      <div className="filters">
        <SearchField
          aria-label={t("searchLabel")}
          className="field runs-search"
          value={text}
          onChange={(value) => set("q", value)}
        >
          <Icon name="search" />
          <Input placeholder={t("searchHint")} />
          {text !== "" && (
            <AriaButton className="clear" aria-label={t("clearSearch")}>
              <Icon name="close" size={12} />
            </AriaButton>
          )}
        </SearchField>
        <Group className="row" aria-label={t("filterLabel")}>
          <Chip
            label={t("all")}
            count={list.counted ? all : null}
            on={status === null}
            onPress={() => set("status", "")}
          />
          {CHIPS.filter(
            (chip) => chip.always || chip.status === status || (list.counts[chip.status] ?? 0) > 0,
          ).map((chip) => (
            <Chip
              key={chip.status}
              label={t(`common:state.${chip.status}`)}
              count={list.counted ? (list.counts[chip.status] ?? 0) : null}
              on={chip.status === status}
              onPress={() => set("status", chip.status === status ? "" : chip.status)}
            />
          ))}
        </Group>
      </div>
      <Body list={list} text={text} all={all} onShowAll={() => setSearch({})} />
    </main>
  );
}

/** Whether changes arrive by themselves. */
export function Live() {
  const { t } = useTranslation("runs");
  const state = useConnectionState();
  const open = state === "open";
  return (
    <span className="row text-12 ink-2 live-mark" role="status">
      {open ? <i className="dot" /> : <Icon name="disconnected" size={14} className="warn" />}
      {open ? t("connected") : t("reconnecting")}
    </span>
  );
}

function Chip(props: { label: string; count: number | null; on: boolean; onPress: () => void }) {
  const format = useFormat();
  return (
    <AriaButton className="chip runs-chip" aria-pressed={props.on} onPress={props.onPress}>
      {props.label} <span className="n">{props.count === null ? "–" : format.count(props.count)}</span>
    </AriaButton>
  );
}

interface BodyProps {
  list: RunListState;
  text: string;
  all: number;
  onShowAll: () => void;
}

function Body({ list, text, all, onShowAll }: BodyProps) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const word = useReason();
  const query = useDeferredValue(text);
  const rows = useMemo(() => list.rows.filter((run) => matches(run, query)), [list.rows, query]);
  if (list.loading) {
    return (
      <p className="page-note ink-3" role="status">
        {t("common:loading")}
      </p>
    );
  }
  if (list.error && list.rows.length === 0) {
    return (
      <div className="page-center">
        <div className="empty" role="alert">
          <h2>{t("failedTitle")}</h2>
          <p>{word(list.error)}</p>
          <Button kind="primary" onPress={list.reload}>
            {t("common:retry")}
          </Button>
        </div>
      </div>
    );
  }
  if (all === 0) return <NoRuns />;
  if (rows.length === 0 && list.nextCursor === null) {
    return (
      <div className="page-center">
        <div className="empty">
          <h2>{t("noneTitle")}</h2>
          <p>{t("noneText", { number: format.count(list.rows.length) })}</p>
          <Button kind="primary" onPress={onShowAll}>
            {t("noneAction")}
          </Button>
        </div>
      </div>
    );
  }
  return <Table list={list} rows={rows} />;
}

function NoRuns() {
  const { t } = useTranslation("runs");
  return (
    <div className="page-center">
      <div className="empty">
        <Icon name="runs" size={40} className="empty-icon" />
        <h2>{t("emptyTitle")}</h2>
        <p>{t("emptyText")}</p>
        <code className="mono command">codefy run examples/digits-cnn.json</code>
        <Link href="/" className={buttonClass("primary")}>
          {t("emptyAction")}
        </Link>
      </div>
    </div>
  );
}

function Table({ list, rows }: { list: RunListState; rows: RunListState["rows"] }) {
  const { t } = useTranslation("runs");
  const box = useRef<HTMLElement>(null);
  const view = useWindow(box, ROW_HEIGHT, rows.length, HEAD_HEIGHT);
  const nearEnd = view.end >= rows.length;
  const { loadMore, loadingMore, nextCursor } = list;
  useEffect(() => {
    if (nearEnd && nextCursor !== null && !loadingMore) loadMore();
  }, [nearEnd, nextCursor, loadingMore, loadMore]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard
    <section className="runs-box" ref={box} aria-label={t("table")} tabIndex={0}>
      <table className="grid runs-table" aria-label={t("table")} aria-rowcount={rows.length + 1}>
        <colgroup>
          <col className="c-state" />
          <col />
          <col className="c-where" />
          <col className="c-progress" />
          <col className="c-loss" />
          <col className="c-time" />
          <col className="c-took" />
          <col className="c-actions" />
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" className="run-state">
              {t("column.state")}
            </th>
            <th scope="col">{t("column.run")}</th>
            <th scope="col">{t("column.where")}</th>
            <th scope="col">{t("column.progress")}</th>
            <th scope="col">{t("column.loss")}</th>
            <th scope="col" className="num" aria-sort="descending">
              {t("column.submitted")} <span aria-hidden="true">↓</span>
            </th>
            <th scope="col" className="num">
              {t("column.took")}
            </th>
            <th scope="col">
              <span className="visually-hidden">{t("column.actions")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {view.before > 0 && (
            <tr className="spacer">
              <td colSpan={8} style={{ height: view.before }} />
            </tr>
          )}
          {rows.slice(view.first, view.end).map((run, i) => (
            <RunRow key={run.run_id} run={run} index={view.first + i + 2} />
          ))}
          {view.after > 0 && (
            <tr className="spacer">
              <td colSpan={8} style={{ height: view.after }} />
            </tr>
          )}
        </tbody>
      </table>
      {loadingMore && (
        <p className="page-note ink-3" role="status">
          {t("loadingMore")}
        </p>
      )}
    </section>
  );
}
