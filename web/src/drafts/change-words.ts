// Changes of a graph as sentences.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Catalog } from "../canvas/model/catalog";
import {
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  levelOf,
  nodeTitle,
} from "../canvas/model/document";
import { useWords } from "../canvas/words";
import { type Change, scopeName } from "./difference";
import { isRecord } from "./same";

const MOST_LETTERS = 40;

export type ChangeSign = "added" | "removed" | "changed";

export interface ToldChange {
  key: string;
  sign: ChangeSign;
  text: string;
  change: Change;
}

/** Sentences for changes of `doc`; places are told together, not node by node. */
export function useChangeWords(
  catalog: Catalog,
): (changes: readonly Change[], doc: GraphDocument) => ToldChange[] {
  const { t } = useTranslation("drafts");
  const words = useWords();
  return useMemo(() => {
    const title = (node: GraphNode | null) => {
      if (node === null) return "";
      const definition = catalog.get(node.type);
      return nodeTitle(node, definition && words.title(definition));
    };
    const paramName = (node: GraphNode | null, name: string) => {
      const param =
        node === null ? undefined : catalog.get(node.type)?.params.find((one) => one.name === name);
      return param === undefined ? name : words.paramLabel(param);
    };
    const sentence = (change: Change, doc: GraphDocument): string => {
      const node = title(change.what);
      const values = { before: short(change.before, t("unset")), after: short(change.after, t("unset")) };
      switch (change.kind) {
        case "param":
          return t("change.param", { node, name: paramName(change.what, change.name), ...values });
        case "label": {
          // Without a name of its own a node has that of its type.
          const plain = change.what === null ? "" : title({ ...change.what, data: { params: {} } });
          return t("change.label", { before: change.before || plain, after: change.after || plain });
        }
        case "type":
          return t("change.type", { node, ...values });
        case "wireAdded":
        case "wireRemoved": {
          const edge = (change.after ?? change.before) as GraphEdge;
          const from = levelOf(doc, change.scope).nodes.find((one) => one.id === edge.source) ?? null;
          const source = title(from) || edge.source;
          return t(`change.${change.kind}`, { source, node: node || edge.target, port: edge.targetHandle });
        }
        case "setting":
          return t("change.setting", {
            name: t(`setting.${change.name}`, { defaultValue: change.name }),
            ...values,
          });
        default:
          return t(`change.${change.kind}`, { node, name: change.name });
      }
    };
    return (changes, doc) => {
      const moved = changes.filter((change) => change.kind === "moved");
      const told = changes
        .filter((change) => change.kind !== "moved" || moved.length === 1)
        .map((change, at) => {
          const inside = change.scope !== null && change.what !== null ? scopeName(change.scope) : null;
          const text = sentence(change, doc);
          return {
            key: `${at} ${change.kind}`,
            sign: signOf(change),
            text: inside === null ? text : t("inside", { group: inside, text }),
            change,
          };
        });
      const [first] = moved;
      if (moved.length > 1 && first !== undefined) {
        const text = t("movedCount", { count: moved.length });
        told.push({ key: "moved", sign: "changed", text, change: { ...first, node: null } });
      }
      return told;
    };
  }, [t, words, catalog]);
}

function signOf({ kind }: Change): ChangeSign {
  if (kind.endsWith("Added")) return "added";
  return kind.endsWith("Removed") ? "removed" : "changed";
}

/** A value in a few letters. */
function short(value: unknown, unset: string): string {
  if (value === undefined || value === null || value === "") return unset;
  const text = Array.isArray(value) || isRecord(value) ? JSON.stringify(value) : String(value);
  const line = text.replace(/\s+/g, " ");
  return line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS)}…` : line;
}
