import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { FieldProps } from "./field";

/** A line of text, taken over letter by letter. */
export function TextParam({ nodes, param, value, mixed, label, describedBy, invalid, change }: FieldProps) {
  const { t } = useTranslation("panel");
  return (
    <input
      className="field"
      aria-label={label}
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      autoComplete="off"
      value={typeof value === "string" && !mixed ? value : ""}
      placeholder={mixed ? t("mixed") : undefined}
      onChange={(event) => {
        const text = event.target.value;
        const ids = nodes.map((node) => node.id).join(",");
        change(text === "" && param.optional === true ? null : text, `param ${ids} ${param.name}`);
      }}
    />
  );
}

/** A list of whole numbers, taken over when it is complete. */
export function ListParam({ value, mixed, label, describedBy, invalid, change, onRefused }: FieldProps) {
  const { t } = useTranslation("panel");
  const [draft, setDraft] = useState<string | null>(null);
  const text = mixed
    ? ""
    : Array.isArray(value)
      ? value.join(", ")
      : typeof value === "number"
        ? String(value)
        : "";
  const commit = () => {
    if (draft === null) return;
    const parts = draft.split(/[\s,×x]+/).filter(Boolean);
    const numbers = parts.map(Number);
    const legal = numbers.every((number) => Number.isSafeInteger(number));
    onRefused(!legal);
    // What cannot be read stays there to be mended.
    if (!legal) return;
    change(numbers);
    setDraft(null);
  };
  return (
    <input
      className="field mono"
      aria-label={label}
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      value={draft ?? text}
      placeholder={mixed ? t("mixed") : undefined}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
        if (event.key === "Escape") {
          setDraft(null);
          onRefused(false);
        }
      }}
    />
  );
}
