// Opening graph files: dropped, or chosen. Each becomes a graph of its own; what is open stays as it is.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { useLocation } from "wouter";
import { ApiProblem, api, keys } from "../api";
import type { NodeList } from "../api/types";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { notices } from "../notices/notices";
import { type FileFault, readGraphFile, unknownTypes } from "./graph-file";
import { freeName } from "./names";

const MOST_FILES = 20;
/** The engine replaces these by what they stand for; the catalog need not list them. */
const ENGINE_TYPES = new Set(["Preset", "Subgraph"]);

export function useImport(): (files: readonly File[]) => Promise<void> {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const word = useReason();
  const format = useFormat();
  return useCallback(
    async (files) => {
      const refuse = (file: File, found: FileFault) => {
        const { size, most } = found.params;
        const sizes =
          size === undefined ? {} : { size: format.size(Number(size)), most: format.size(Number(most)) };
        notices.show({
          tone: "bad",
          text: `drafts:fault.${found.fault}`,
          params: { ...found.params, ...sizes, file: file.name },
          detail: "drafts:draftAsItWas",
          ...(found.fault === "runExport" || found.fault === "events"
            ? {
                action: {
                  label: "drafts:openInRuns",
                  run: () => navigate(found.runId === undefined ? "/runs" : `/runs/${found.runId}`),
                },
              }
            : {}),
        });
      };
      const opened: string[] = [];
      for (const file of files.slice(0, MOST_FILES)) {
        const found = await readGraphFile(file);
        if ("fault" in found) {
          refuse(file, found);
          continue;
        }
        try {
          const { graphs, drafts } = await api.graphs();
          const taken = [...graphs, ...(drafts ?? [])].map((graph) => graph.name);
          const name = freeName(found.name || found.doc.name, taken);
          await api.saveGraph(name, { ...found.doc, name }, 0);
          opened.push(name);
        } catch (error) {
          notices.show({
            tone: "bad",
            text: "drafts:notOpened",
            params: { file: file.name },
            said: error instanceof ApiProblem ? word(error) : String(error),
            detail: "drafts:draftAsItWas",
          });
          continue;
        }
        const catalog = client.getQueryData<NodeList>(keys.nodes)?.nodes;
        const types = new Set(catalog?.map((node) => node.type));
        const unknown = unknownTypes(found.doc, (type) => types.has(type) || ENGINE_TYPES.has(type));
        if (catalog !== undefined && unknown.size > 0) {
          const count = [...unknown.values()].reduce((sum, many) => sum + many, 0);
          const names = [...unknown.keys()].slice(0, 5).join(", ") + (unknown.size > 5 ? ", …" : "");
          notices.show({ tone: "warn", text: "drafts:unknownNodes", params: { count, types: names } });
        }
      }
      void client.invalidateQueries({ queryKey: keys.graphs });
      const last = opened.at(-1);
      if (last !== undefined) navigate(`/graphs/${encodeURIComponent(last)}`);
    },
    [client, navigate, word, format],
  );
}
