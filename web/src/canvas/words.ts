// The catalog's and the server's words in the language of the page. Both come in English; what we have no translation of
// stays as it came.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Choice, GraphProblem, NodeDefinition, ParamDefinition } from "../api/types";
import { wordReason } from "../i18n/reasons";
import { catalogWords } from "./catalog-words";

export interface Told {
  code: string;
  message: string;
  params?: Record<string, unknown>;
}

export interface Words {
  title(definition: NodeDefinition): string;
  summary(definition: NodeDefinition): string;
  category(name: string): string;
  paramLabel(param: ParamDefinition): string;
  paramDoc(param: ParamDefinition): string;
  choiceLabel(choice: Choice): string;
  unit(name: string): string;
  /** A problem or an error in one sentence. */
  problem(told: Told): string;
  /** The same, short enough for a node. */
  short(told: Told): string;
}

export function useWords(): Words {
  const { t, i18n } = useTranslation("canvas");
  const chinese = i18n.language === "zh-Hant";
  return useMemo(() => {
    const word = (text: string) => (chinese ? (catalogWords[text] ?? text) : text);
    const problem = (told: Told) => wordReason(i18n.language, told);
    return {
      title: (definition) => definition.title,
      summary: (definition) => word(definition.summary),
      category: (name) => t(`category.${name}`, { defaultValue: name }),
      paramLabel: (param) => word(param.label),
      paramDoc: (param) => word(param.doc ?? ""),
      choiceLabel: (choice) => word(choice.label),
      unit: (name) => word(name),
      problem,
      short: (told) =>
        t(`reasonShort.${told.code}`, { ...textParams(told.params), defaultValue: problem(told) }),
    };
  }, [t, chinese, i18n.language]);
}

/** i18next writes objects badly; lists read as lists. */
function textParams(params: GraphProblem["params"] | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params ?? {}).map(([name, value]) => [
      name,
      Array.isArray(value)
        ? value.join(", ")
        : typeof value === "object"
          ? JSON.stringify(value)
          : String(value),
    ]),
  );
}
