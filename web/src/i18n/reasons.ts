// Codes with parameters, as the server sends them, in the page's language. The server's own sentence is English.
import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import reasons from "./reasons-locale";

export interface CodedMessage {
  code: string;
  message: string;
  params?: Readonly<Record<string, unknown>> | null | undefined;
}

/** A parameter inside a sentence: lists with commas, nothing for null. */
function written(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(written).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function wordReason(language: string, reason: CodedMessage): string {
  if (!language.startsWith("zh")) return reason.message;
  const template = (reasons as Record<string, string | undefined>)[reason.code];
  if (template === undefined) return reason.message;
  return template.replace(/\{(\w+)\}/g, (_, name: string) => written(reason.params?.[name]));
}

/** Words a coded message; falls back to the server's sentence for codes of a newer server. */
export function useReason(): (reason: CodedMessage) => string {
  const { i18n } = useTranslation();
  const language = i18n.language;
  return useCallback((reason: CodedMessage) => wordReason(language, reason), [language]);
}
