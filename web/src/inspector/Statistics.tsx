import { useTranslation } from "react-i18next";
import { fromJsonNumber } from "../api";
import { countText } from "../canvas/format";
import { Histogram } from "./drawings";
import { cellText } from "./numbers";
import type { OutputStatistics } from "./types";

/** All numbers of a tensor in a few; NaN and infinities are told first, since they explain the rest. */
export function Statistics({ facts, name }: { facts: OutputStatistics; name: string }) {
  const { t } = useTranslation("inspector");
  const value = (number: number | string | undefined) =>
    number === undefined ? "–" : cellText(fromJsonNumber(number));
  const rows: [string, string, boolean?][] = [];
  if (facts.nan > 0) rows.push([t("nan"), countText(facts.nan), true]);
  if (facts.infinite > 0) rows.push([t("infinite"), countText(facts.infinite), true]);
  rows.push(
    [t("count"), countText(facts.count)],
    [t("mean"), value(facts.mean)],
    [t("std"), value(facts.std)],
    [t("min"), value(facts.min)],
    [t("max"), value(facts.max)],
    [t("zero"), facts.count === 0 ? "–" : `${((facts.zero / facts.count) * 100).toFixed(1)} %`],
  );
  const counts = facts.histogram ?? [];
  return (
    <div className="statistics">
      <dl className="facts">
        {rows.map(([label, text, bad]) => (
          <div key={label} className="facts-row">
            <dt>{label}</dt>
            <dd className={bad === true ? "bad-text" : undefined}>{text}</dd>
          </div>
        ))}
      </dl>
      {counts.length > 0 && (
        <Histogram
          counts={counts}
          min={fromJsonNumber(facts.min ?? "NaN")}
          max={fromJsonNumber(facts.max ?? "NaN")}
          name={name}
        />
      )}
    </div>
  );
}
