// What a group shows of its inside: ports and parameters by the name that they have outside.
import type { Level } from "./document";

export interface ExposedPort {
  name: string;
  node: string;
  port: string;
}

export interface ExposedParam {
  name: string;
  node: string;
  param: string;
}

export interface Interface {
  inputs: readonly ExposedPort[];
  outputs: readonly ExposedPort[];
  params: readonly ExposedParam[];
}

/** The interface as the file has it; entries that are none are left out. */
export function interfaceOf(level: Level): Interface {
  return {
    inputs: entries<ExposedPort>(level.inputs, "port"),
    outputs: entries<ExposedPort>(level.outputs, "port"),
    params: entries<ExposedParam>(level.params, "param"),
  };
}

function entries<T>(value: unknown, key: "port" | "param"): T[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (item): item is T =>
      typeof item === "object" &&
      item !== null &&
      ["name", "node", key].every((field) => typeof (item as Record<string, unknown>)[field] === "string"),
  );
}

/** The level without what it exposes of nodes that it does not have any more. */
export function trimmed(level: Level, gone: ReadonlySet<string>): Level {
  const { inputs, outputs, params } = interfaceOf(level);
  const lost = (item: { node: string }) => gone.has(item.node);
  if (![...inputs, ...outputs, ...params].some(lost)) return level;
  return {
    ...level,
    inputs: inputs.filter((item) => !lost(item)),
    outputs: outputs.filter((item) => !lost(item)),
    params: params.filter((item) => !lost(item)),
  };
}

/** The name that something inside has outside, after the interface changed; `null` when it is not shown any more. */
export function renamedOutside<T extends { name: string; node: string }>(
  before: readonly T[],
  after: readonly T[],
  same: (a: T, b: T) => boolean,
  name: string,
): string | null {
  const shown = before.filter((item) => item.name === name);
  const still = after.find((item) => shown.some((old) => same(old, item)));
  return still?.name ?? null;
}
