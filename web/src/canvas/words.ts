// The catalog's and the server's words in the language of the page. Both come in English; what we have no translation of
// stays as it came.
import type { TFunction } from "i18next";
import { createContext, useContext, useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { create } from "zustand";
import type { Choice, GraphProblem, NodeDefinition, ParamDefinition } from "../api/types";
import { wordReason } from "../i18n/reasons";

export interface Told {
  code: string;
  message: string;
  params?: Record<string, unknown>;
}

/** The catalog's words in Chinese: they are many, and loaded only for those who read them. */
const useChineseCatalog = create<{ words: Readonly<Record<string, string>> }>()(() => ({ words: {} }));
let asked = false;

function loadChinese(): void {
  if (asked) return;
  asked = true;
  import("./catalog-words").then(
    ({ catalogWords }) => useChineseCatalog.setState({ words: catalogWords }),
    () => {
      // The server may be away: the next one who asks tries again.
      asked = false;
    },
  );
}

export interface Words {
  /** The canvas' own words. */
  t: TFunction<"canvas">;
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
  const catalog = useChineseCatalog((state) => state.words);
  useEffect(() => {
    if (chinese) loadChinese();
  }, [chinese]);
  return useMemo(() => {
    const word = (text: string) => (chinese ? (catalog[text] ?? text) : text);
    const problem = (told: Told) => wordReason(i18n.language, told);
    return {
      t,
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
  }, [t, chinese, catalog, i18n.language]);
}

/** Sentences that are remembered before all are forgotten: counts and names make ever new ones. */
const MOST_SAID = 4000;

/** The same words, which look up a sentence once: a thousand nodes say the same few. */
export function remembering(words: Words): Words {
  const said = new Map<string, string>();
  const say = (key: string, options?: Record<string, unknown>): string => {
    const asked = options === undefined ? key : `${key} ${JSON.stringify(options)}`;
    let text = said.get(asked);
    if (text === undefined) {
      text = String(words.t(key as never, options as never));
      if (said.size >= MOST_SAID) said.clear();
      said.set(asked, text);
    }
    return text;
  };
  return { ...words, t: say as unknown as Words["t"] };
}

const NodeWords = createContext<Words | null>(null);
export const NodeWordsProvider = NodeWords.Provider;

/** The words that all nodes of a canvas share. */
export function useNodeWords(): Words {
  const words = useContext(NodeWords);
  if (words === null) throw new Error("There is no canvas around this node.");
  return words;
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
