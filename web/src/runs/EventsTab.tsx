import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import { Input } from "react-aria-components/Input";
import { SearchField } from "react-aria-components/SearchField";
import { useTranslation } from "react-i18next";
import type { LiveRun, RunDetail, StoredEvent } from "../api";
import { clockText } from "../charts/format";
import { useFormat } from "../i18n/format";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useWindow } from "../ui/use-window";
import { eventText, nodeOf } from "./event-words";

const ROW = 28;
const HEAD = 32;

interface Props {
  run: RunDetail;
  live: LiveRun | undefined;
  nameOf: (nodeId: string) => string;
}

/** Every event of the run by its cursor, in order; the chosen one in full beside. */
export function EventsTab({ run, live, nameOf }: Props) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const events = live?.events ?? [];
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState<number | null>(null);
  const needle = query.trim().toLowerCase();
  const shown = useMemo(
    () =>
      needle === ""
        ? events
        : events.filter((event) =>
            `${event.type} ${JSON.stringify(event.payload)}`.toLowerCase().includes(needle),
          ),
    [events, needle],
  );
  const event = chosen === null ? null : (events[chosen - 1] ?? null);
  return (
    <div className="events">
      <section className="card events-list" aria-label={t("eventsTitle")}>
        <div className="card-head">
          <span>{t("eventsTitle")}</span>
          <span className="text-12 ink-3 grow plain" data-testid="event-count">
            {t("eventCount", { count: events.length, number: format.count(events.length) })}
            {t("comma")}
            {t(live?.complete ? "eventsComplete" : "eventsSoFar")}
          </span>
          <SearchField
            aria-label={t("eventFilter")}
            className="field console-find"
            value={query}
            onChange={setQuery}
          >
            <Icon name="search" />
            <Input placeholder={t("find")} />
          </SearchField>
          <IconButton
            icon="download"
            size="s"
            label={t("downloadEvents")}
            isDisabled={events.length === 0}
            onPress={() => download(`${run.run_id}-events.json`, events)}
          />
        </div>
        {events.length === 0 ? (
          <p className="artifact-none text-12 ink-3">{t("eventsEmpty")}</p>
        ) : (
          <Rows
            events={shown}
            startedAt={run.started_at ?? run.created_at}
            nameOf={nameOf}
            chosen={chosen}
            onChoose={setChosen}
          />
        )}
      </section>
      <section
        className="card event-payload"
        aria-label={event ? t("payload", { cursor: event.cursor }) : t("eventsTitle")}
      >
        {event ? (
          <>
            <div className="card-head">
              <span className="grow">{t("payload", { cursor: event.cursor })}</span>
              <span className="text-12 ink-3 plain">{format.moment(event.ts)}</span>
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard */}
            <pre className="mono" tabIndex={0}>
              {JSON.stringify({ type: event.type, payload: event.payload }, null, 2)}
            </pre>
          </>
        ) : (
          <p className="artifact-none text-12 ink-3">{t("chooseEvent")}</p>
        )}
      </section>
    </div>
  );
}

function download(name: string, events: readonly StoredEvent[]): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(events, null, 1)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

interface RowsProps {
  events: readonly StoredEvent[];
  startedAt: number;
  nameOf: (nodeId: string) => string;
  chosen: number | null;
  onChoose: (cursor: number) => void;
}

function Rows({ events, startedAt, nameOf, chosen, onChoose }: RowsProps) {
  const { t } = useTranslation("runs");
  const box = useRef<HTMLDivElement>(null);
  const view = useWindow(box, ROW, events.length, HEAD);
  const move = (key: KeyboardEvent) => {
    const step = key.key === "ArrowDown" ? 1 : key.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    key.preventDefault();
    const at = events.findIndex((event) => event.cursor === chosen);
    const next = events[Math.max(0, Math.min(events.length - 1, at < 0 ? 0 : at + step))];
    if (!next) return;
    onChoose(next.cursor);
    const element = box.current;
    if (!element) return;
    const top = events.indexOf(next) * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW + HEAD > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + ROW + HEAD - element.clientHeight;
    }
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard
    // biome-ignore lint/a11y/noStaticElementInteractions: arrows move the choice in the table inside
    <div className="events-box" ref={box} tabIndex={0} onKeyDown={move}>
      <table className="grid events-table" aria-label={t("eventsTitle")} aria-rowcount={events.length + 1}>
        <colgroup>
          <col className="e-cursor" />
          <col className="e-time" />
          <col className="e-type" />
          <col className="e-node" />
          <col />
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" className="num">
              {t("eventColumn.cursor")}
            </th>
            <th scope="col" className="num">
              {t("eventColumn.time")}
            </th>
            <th scope="col">{t("eventColumn.type")}</th>
            <th scope="col">{t("eventColumn.node")}</th>
            <th scope="col">{t("eventColumn.what")}</th>
          </tr>
        </thead>
        <tbody>
          {view.before > 0 && (
            <tr className="spacer">
              <td colSpan={5} style={{ height: view.before }} />
            </tr>
          )}
          {events.slice(view.first, view.end).map((event, i) => {
            const nodeId = nodeOf(event);
            return (
              <tr
                key={event.cursor}
                aria-rowindex={view.first + i + 2}
                aria-selected={event.cursor === chosen}
                data-cursor={event.cursor}
                onClick={() => onChoose(event.cursor)}
              >
                <td className="num mono ink-3">{event.cursor}</td>
                <td className="num mono ink-2">{clockText(Math.max(0, event.ts - startedAt))}</td>
                <td className="mono">{event.type}</td>
                <td className="clip">{nodeId === "" ? "" : nameOf(nodeId)}</td>
                <td className="clip ink-2">{eventText(event)}</td>
              </tr>
            );
          })}
          {view.after > 0 && (
            <tr className="spacer">
              <td colSpan={5} style={{ height: view.after }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
