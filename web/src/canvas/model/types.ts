// What a node of a document looks like: its type's definition with the ports that its parameters, its group or its module
// decide. The engine decides in the same way when it plans a run.
import type { NodeDefinition, ParamDefinition, PortDefinition } from "../../api/types";
import type { Catalog } from "./catalog";
import {
  findLevel,
  findNode,
  type GraphDocument,
  type GraphNode,
  isGroup,
  type Level,
  scopeBehind,
  subgraphOf,
} from "./document";
import { interfaceOf } from "./interface";

/** How many ports a repeated one may become. */
export const MOST_REPEATED = 64;
const MOST_NESTED = 32;

export interface Types {
  /** The definition of this very node; `undefined` for a type that is not installed. */
  of(node: GraphNode): NodeDefinition | undefined;
}

const known = new WeakMap<Catalog, { doc: Pick<GraphDocument, "subgraphs" | "presets">; types: Types }>();

/** The types of a document's nodes; the same object as long as nothing changed that decides them. */
export function typesOf(doc: GraphDocument, catalog: Catalog): Types {
  const last = known.get(catalog);
  if (last !== undefined && last.doc.subgraphs === doc.subgraphs && last.doc.presets === doc.presets) {
    return last.types;
  }
  const types = makeTypes(doc, catalog);
  known.set(catalog, { doc, types });
  return types;
}

function makeTypes(doc: GraphDocument, catalog: Catalog): Types {
  const made = new WeakMap<GraphNode, NodeDefinition>();
  const resolve = (node: GraphNode, depth: number): NodeDefinition | undefined => {
    const base = catalog.get(node.type);
    if (base === undefined) return undefined;
    if (isGroup(node)) {
      return remember(node, () => groupDefinition(doc, base, node, (inner) => of(inner, depth + 1)));
    }
    if (node.type === "Submodule") return remember(node, () => submoduleDefinition(doc, base, node));
    return repeats(base) ? remember(node, () => repeated(base, node)) : base;
  };
  const of = (node: GraphNode, depth = 0) => (depth > MOST_NESTED ? undefined : resolve(node, depth));
  const remember = (node: GraphNode, make: () => NodeDefinition) => {
    let found = made.get(node);
    if (found === undefined) {
      found = make();
      made.set(node, found);
    }
    return found;
  };
  return { of: (node) => of(node) };
}

function repeats(definition: NodeDefinition): boolean {
  return [...definition.inputs, ...definition.outputs].some((port) => (port.repeat ?? "") !== "");
}

function repeated(definition: NodeDefinition, node: GraphNode): NodeDefinition {
  const spread = (port: PortDefinition): PortDefinition[] => {
    if ((port.repeat ?? "") === "") return [port];
    const param = definition.params.find((candidate) => candidate.name === port.repeat);
    const value = node.data.params[port.repeat ?? ""] ?? param?.default;
    return repeatedNames(port.name, value).map((name) => ({ ...port, name, label: name, repeat: "" }));
  };
  return {
    ...definition,
    inputs: definition.inputs.flatMap(spread),
    outputs: definition.outputs.flatMap(spread),
  };
}

/** `x1 … xn` for a whole number, the names themselves for a text such as `a, b`. */
export function repeatedNames(port: string, value: unknown): string[] {
  if (typeof value === "string") {
    const names = value.split(",").map((name) => name.trim());
    return [...new Set(names.filter((name) => name !== ""))];
  }
  const count = typeof value === "number" && Number.isInteger(value) ? value : 0;
  return Array.from({ length: Math.min(Math.max(count, 0), MOST_REPEATED) }, (_, at) => `${port}${at + 1}`);
}

/** The subgraph's own ends decide how many ports a Submodule has. */
function submoduleDefinition(doc: GraphDocument, base: NodeDefinition, node: GraphNode): NodeDefinition {
  const subgraph = subgraphOf(node);
  const level = subgraph === null ? undefined : findLevel(doc, subgraph);
  if (level === undefined) return base;
  const ends = (type: string) => level.nodes.filter((inner) => inner.type === type).length;
  return {
    ...base,
    inputs: base.inputs.slice(0, Math.max(1, ends("ModuleInput"))),
    outputs: base.outputs.slice(0, Math.max(1, ends("ModuleOutput"))),
  };
}

type Of = (node: GraphNode) => NodeDefinition | undefined;

function groupDefinition(doc: GraphDocument, base: NodeDefinition, node: GraphNode, of: Of): NodeDefinition {
  const scope = scopeBehind(node);
  const level = scope === null ? undefined : findLevel(doc, scope);
  if (level === undefined) return base;
  const name = String(node.data.params[node.type === "Preset" ? "preset" : "subgraph"]);
  const own = exposed(level, of);
  return { ...base, title: name, params: [...base.params, ...own.params], ...ports(own) };
}

const ports = ({ inputs, outputs }: Pick<NodeDefinition, "inputs" | "outputs">) => ({ inputs, outputs });

/** The ports and parameters that a level shows outside, as definitions. */
export function exposed(level: Level, of: Of): Pick<NodeDefinition, "inputs" | "outputs" | "params"> {
  const { inputs, outputs, params } = interfaceOf(level);
  const inner = (id: string) => {
    const node = findNode(level, id);
    return node === undefined ? undefined : { node, definition: of(node) };
  };
  const side = (items: typeof inputs, key: "inputs" | "outputs") =>
    firsts(items).map((item): PortDefinition => {
      const port = inner(item.node)?.definition?.[key].find((candidate) => candidate.name === item.port);
      return port === undefined
        ? { name: item.name, label: item.name, type: "any", required: false }
        : { ...port, name: item.name, label: item.name };
    });
  return {
    inputs: side(inputs, "inputs"),
    outputs: side(outputs, "outputs"),
    params: firsts(params).flatMap((item): ParamDefinition[] => {
      const found = inner(item.node);
      const param = found?.definition?.params.find((candidate) => candidate.name === item.param);
      if (found === undefined || param === undefined) return [];
      // What is written inside is what an instance has by default; conditions speak of parameters that may not be here.
      const { visible_if: _, ...rest } = param;
      const value = found.node.data.params[item.param] ?? param.default;
      return [
        { ...rest, name: item.name, label: item.name.replaceAll("_", " "), default: value, advanced: false },
      ];
    }),
  };
}

/** Several entries of one name are one outside: the first tells what it is. */
function firsts<T extends { name: string }>(items: readonly T[]): T[] {
  const seen = new Set<string>();
  return items.filter((item) => !seen.has(item.name) && seen.add(item.name));
}
