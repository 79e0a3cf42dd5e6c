import { useState } from "react";
import { useTranslation } from "react-i18next";
import { shapeText } from "../canvas/format";
import { PortShape } from "../canvas/PortShape";
import { Icon } from "../ui/Icon";
import "./inspector.css";
import { OutputView } from "./OutputView";
import type { Source } from "./types";

interface Props {
  runId: string;
  name: string;
  type: string;
  shape?: unknown;
  summary?: string | undefined;
  note?: string | undefined;
  /** The kept output, if there is one to look into. */
  source: Source | null;
  openAtFirst: boolean;
}

/** One port of a node: what it gave in a line, and folded below it everything about it. */
export function InspectItem({ runId, name, type, shape, summary, note, source, openAtFirst }: Props) {
  const { t } = useTranslation("inspector");
  const [open, setOpen] = useState(openAtFirst);
  const head = (
    <>
      <PortShape type={type} filled />
      <span className="grow strong clip">{name}</span>
      <span className="mono-11 ink-3">{shapeText(shape)}</span>
    </>
  );
  return (
    <section className="inspect-item">
      {source === null ? (
        <p className="inspect-fold">{head}</p>
      ) : (
        <button
          type="button"
          className="inspect-fold"
          aria-expanded={open}
          aria-label={t("inspect", { name })}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "down" : "right"} className="ink-3" />
          {head}
        </button>
      )}
      {note !== undefined && <p className="inspect-summary ink-3">{note}</p>}
      {summary !== undefined && summary !== "" && <p className="inspect-summary">{summary}</p>}
      {open && source !== null && <OutputView runId={runId} source={source} name={name} />}
    </section>
  );
}
