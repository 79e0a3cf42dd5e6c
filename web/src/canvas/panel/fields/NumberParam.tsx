import { useTranslation } from "react-i18next";
import type { ParamDefinition } from "../../../api/types";
import { NumberField } from "../../../ui/NumberField";
import { countText } from "../../format";
import { bounds, inRange } from "../../model/params";
import { useWords } from "../../words";
import type { FieldProps } from "./field";

export function NumberParam({
  param,
  value,
  mixed,
  label,
  describedBy,
  invalid,
  change,
  onRefused,
}: FieldProps) {
  const { t } = useTranslation("canvas");
  const words = useWords();
  const { min, max } = bounds(param);
  const integer = param.kind === "int";
  return (
    <NumberField
      label={label}
      value={typeof value === "number" && !mixed ? value : null}
      onChange={(next) => {
        if (next === null) {
          if (param.optional === true && !mixed) change(null);
          return;
        }
        const legal = inRange(param, next);
        onRefused(!legal);
        if (legal) change(next);
      }}
      min={min}
      max={max}
      integer={integer}
      step={integer ? 1 : stepFor(value)}
      unit={words.unit(param.unit ?? "")}
      {...(mixed
        ? { placeholder: t("panel:mixed") }
        : param.optional === true
          ? { placeholder: t("auto") }
          : {})}
      invalid={invalid}
      describedBy={describedBy}
      up={t("increase", { ns: "common" })}
      down={t("decrease", { ns: "common" })}
    />
  );
}

/** A press on an arrow changes a fraction by a tenth of its size. */
function stepFor(value: unknown): number {
  if (typeof value !== "number" || value === 0) return 0.01;
  return (
    10 ** Math.floor(Math.log10(Math.abs(value)) - (Number.isInteger(Math.log10(Math.abs(value))) ? 1 : 0))
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

/** The legal values in words: `1 to 10,000.` */
export function rangeText(param: ParamDefinition, t: Translate): string {
  if (param.kind !== "int" && param.kind !== "float") return "";
  const { min, max } = bounds(param);
  const least = min === undefined ? null : countText(min);
  const most = max === undefined ? null : countText(max);
  const open = {
    openMin: param.kind === "float" && param.exclusive_min === true,
    openMax: param.kind === "float" && param.exclusive_max === true,
  };
  if (least !== null && most !== null) {
    const key = open.openMin ? (open.openMax ? "between" : "aboveTo") : open.openMax ? "toBelow" : "fromTo";
    return t(`range.${key}`, { least, most });
  }
  if (least !== null) return t(open.openMin ? "range.above" : "range.atLeast", { least });
  if (most !== null) return t(open.openMax ? "range.below" : "range.atMost", { most });
  return "";
}
