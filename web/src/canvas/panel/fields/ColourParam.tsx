import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { FieldProps } from "./field";

const COLOUR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i;

/** A colour by its swatch or its code. */
export function ColourParam({
  nodes,
  param,
  value,
  mixed,
  label,
  describedBy,
  invalid,
  change,
  onRefused,
}: FieldProps) {
  const { t } = useTranslation("panel");
  const [draft, setDraft] = useState<string | null>(null);
  const text = typeof value === "string" && !mixed ? value : "";
  const ids = nodes.map((node) => node.id).join(",");
  const commit = () => {
    if (draft === null) return;
    const code = draft.trim().startsWith("#") ? draft.trim() : `#${draft.trim()}`;
    const empty = draft.trim() === "" && param.optional === true;
    const legal = empty || COLOUR.test(code);
    onRefused(!legal);
    if (!legal) return;
    change(empty ? null : code.toLowerCase());
    setDraft(null);
  };
  return (
    <span className="colour-param">
      <input
        type="color"
        aria-label={t("pickColour", { name: label })}
        value={sixDigits(text)}
        onChange={(event) => change(event.target.value, `param ${ids} ${param.name}`)}
      />
      <input
        className="field mono"
        aria-label={label}
        aria-describedby={describedBy}
        aria-invalid={invalid || undefined}
        value={draft ?? text}
        placeholder={mixed ? t("mixed") : "#3b82f6"}
        spellCheck={false}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
        }}
      />
    </span>
  );
}

/** What the browser's own picker takes: `#rrggbb`. */
function sixDigits(code: string): string {
  if (/^#[0-9a-f]{3}$/i.test(code)) return `#${[...code.slice(1)].map((digit) => digit + digit).join("")}`;
  return COLOUR.test(code) ? code.slice(0, 7) : "#000000";
}
