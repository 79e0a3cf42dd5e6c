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

/** English that the server puts into parameters, where it always has the same form. */
const PHRASES: readonly [RegExp, string][] = [
  [/^killed by (\w+)$/, "被 $1 終止"],
  [/^exit code (-?\d+)$/, "結束代碼 $1"],
  [/^ Did you mean (.+)\?$/, "是不是要用 $1？"],
  [/^input$/, "輸入"],
  [/^output$/, "輸出"],
  [/^(?:comes from|starts at)$/, "起點"],
  [/^(?:goes to|ends at)$/, "終點"],
];
const EXPECTED: readonly [RegExp, string][] = [
  [/^expected /, "應為"],
  [/, or nothing$/, "，或留空"],
  [/true or false/, "真或假"],
  [/the name of a subgraph/, "子圖的名稱"],
  [/a list of numbers/, "數字的清單"],
  [/a whole number/, "整數"],
  [/whole numbers/, "整數的清單"],
  [/a number/, "數字"],
  [/a text/, "文字"],
  [/one of /, "其中之一："],
  [/ from (\S+) to (.+?)(?=，|$)/, "，從 $1 到 $2"],
  [/ above (\S+)/, "，大於 $1"],
  [/ of at least (\S+)/, "，至少 $1"],
  [/(?: and)? below (\S+)/, "，小於 $1"],
  [/(?: and)? of at most (\S+)/, "，最多 $1"],
];

function inChinese(text: string): string {
  for (const [phrase, words] of PHRASES) if (phrase.test(text)) return text.replace(phrase, words);
  if (!text.startsWith("expected ")) return text;
  return EXPECTED.reduce((sentence, [phrase, words]) => sentence.replace(phrase, words), text);
}

export function wordReason(language: string, reason: CodedMessage): string {
  if (!language.startsWith("zh")) return reason.message;
  const template = (reasons as Record<string, string | undefined>)[reason.code];
  if (template === undefined) return reason.message;
  return template.replace(/\{(\w+)\}/g, (_, name: string) => inChinese(written(reason.params?.[name])));
}

/** Words a coded message; falls back to the server's sentence for codes of a newer server. */
export function useReason(): (reason: CodedMessage) => string {
  const { i18n } = useTranslation();
  const language = i18n.language;
  return useCallback((reason: CodedMessage) => wordReason(language, reason), [language]);
}
