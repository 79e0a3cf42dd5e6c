// Secrets in a graph are references: `{"secret": NAME}`. Which names a graph needs. Pure.
import type { GraphDocument, Level } from "./document";

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

export function isSecretName(text: string): boolean {
  return NAME.test(text);
}

/** The name in a reference, `null` for everything else. */
export function secretName(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const keys = Object.keys(value);
  const name = (value as { secret?: unknown }).secret;
  return keys.length === 1 && typeof name === "string" && name !== "" ? name : null;
}

/** Names that the graph refers to, those inside its groups too, each once and sorted. */
export function secretsOf(doc: GraphDocument): string[] {
  const names = new Set<string>();
  const look = (level: Level) => {
    for (const node of level.nodes) {
      for (const value of Object.values(node.data.params)) {
        const name = secretName(value);
        if (name !== null) names.add(name);
      }
    }
  };
  look(doc);
  const groups = [doc.subgraphs, doc.presets] as (Record<string, Partial<Level>> | undefined)[];
  for (const group of groups) {
    for (const level of Object.values(group ?? {})) if (Array.isArray(level?.nodes)) look(level as Level);
  }
  return [...names].sort();
}
