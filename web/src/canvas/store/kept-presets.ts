// Presets that are kept on the server for all graphs, as the library offers them.
import { type UseQueryResult, useQueries } from "@tanstack/react-query";
import { api, keys, usePresets } from "../../api";
import type { StoredPreset } from "../../api/types";
import { levelsBehind } from "../model/copying";
import {
  type GraphDocument,
  levelOf,
  NotAGraph,
  presetIn,
  presetScope,
  readDocument,
} from "../model/document";
import type { KeptPreset } from "../model/entries";

/** All of them with what they hold; those that cannot be read are left out, the server tells of them elsewhere. */
export function useKeptPresets(): readonly KeptPreset[] {
  const { data } = usePresets();
  return useQueries({
    queries: (data?.presets ?? []).map(({ name, revision }) => ({
      queryKey: [...keys.presets, name, revision],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.preset(name, signal),
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: together,
  });
}

function together(answers: UseQueryResult<StoredPreset>[]): readonly KeptPreset[] {
  return answers.flatMap(({ data }) => (data === undefined ? [] : asKept(data)));
}

function asKept({ name, description, preset, presets, subgraphs }: StoredPreset): KeptPreset[] {
  try {
    const own = typeof presets === "object" ? presets : {};
    const graph = readDocument({ nodes: [], edges: [], presets: { ...own, [name]: preset }, subgraphs });
    return [{ name, summary: description, graph }];
  } catch (problem) {
    if (problem instanceof NotAGraph) return [];
    throw problem;
  }
}

/** Keep a preset of a document on the server, with all that it needs. Rejects with an ApiProblem: 409 when there is one. */
export async function keepPreset(doc: GraphDocument, name: string): Promise<void> {
  const preset = levelOf(doc, presetScope(name));
  const presets: Record<string, unknown> = {};
  const subgraphs: Record<string, unknown> = {};
  for (const scope of levelsBehind(doc, preset.nodes)) {
    const inner = presetIn(scope);
    if (inner === null) subgraphs[scope] = levelOf(doc, scope);
    else presets[inner] = levelOf(doc, scope);
  }
  await api.savePreset(name, { preset, presets, subgraphs, base_revision: 0 });
}
