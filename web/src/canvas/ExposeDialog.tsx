import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, keys } from "../api";
import type { NodeDefinition } from "../api/types";
import { useReason } from "../i18n/reasons";
import { notices } from "../notices/notices";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { iconOf } from "./icons";
import { apply } from "./model/commands";
import { inOrder } from "./model/connect";
import { findLevel, type GraphNode, levelOf, nodeTitle, presetIn, presetScope } from "./model/document";
import { setInterface } from "./model/exposing";
import { toPreset } from "./model/group";
import { interfaceOf } from "./model/interface";
import { fresh } from "./model/naming";
import { PortShape } from "./PortShape";
import { useEditor, useGraph, useTypes } from "./store/editor";
import { documentOf, scopeOf } from "./store/graph-store";
import { keepPreset } from "./store/kept-presets";
import { useStageUi } from "./store/stage-ui";
import { useWords } from "./words";

interface Props {
  scope: string;
  /** The node that stands for the group, where one is selected. */
  node: string | null;
  /** The group is to become a preset. */
  preset: boolean;
}

type Side = "inputs" | "outputs" | "params";

interface Row {
  side: Side;
  node: string;
  /** Name of the port or parameter inside. */
  inner: string;
  /** Name outside; `null` while it is not shown. */
  name: string | null;
}

const keyOf = (row: Pick<Row, "side" | "node" | "inner">) => `${row.side} ${row.node} ${row.inner}`;

/** Which ports and parameters of its inside a group shows, and by what name. */
export default function ExposeDialog({ scope, node, preset }: Props) {
  const { t } = useTranslation("editor");
  const { store } = useEditor();
  const types = useTypes();
  const doc = useGraph(documentOf);
  const level = levelOf(doc, scope);
  const [rows, setRows] = useState<ReadonlyMap<string, Row>>(() => {
    const { inputs, outputs, params } = interfaceOf(level);
    const all: Row[] = [
      ...inputs.map((item): Row => ({ side: "inputs", node: item.node, inner: item.port, name: item.name })),
      ...outputs.map(
        (item): Row => ({ side: "outputs", node: item.node, inner: item.port, name: item.name }),
      ),
      ...params.map((item): Row => ({ side: "params", node: item.node, inner: item.param, name: item.name })),
    ];
    return new Map(all.map((row) => [keyOf(row), row]));
  });
  const taken = (name: string) => findLevel(doc, presetScope(name)) !== undefined;
  const [name, setName] = useState(() => presetIn(scope) ?? fresh(scope, taken));
  const [keep, setKeep] = useState(true);
  const queryClient = useQueryClient();
  const word = useReason();
  const close = () => useStageUi.setState({ exposing: null });
  const nameProblem = !preset
    ? null
    : name.trim() === ""
      ? "nameEmpty"
      : taken(name.trim())
        ? "nameTaken"
        : null;
  // Several inner ports of one outer name are one input; two outputs or parameters of one name cannot both be meant.
  const clash = useMemo(() => clashOf([...rows.values()]), [rows]);

  const save = () => {
    const shown = [...rows.values()].filter((row) => row.name !== null && row.name.trim() !== "");
    const port = (row: Row) => ({ name: row.name?.trim() ?? "", node: row.node, port: row.inner });
    const of = (side: Side) => shown.filter((row) => row.side === side);
    const after = {
      inputs: of("inputs").map(port),
      outputs: of("outputs").map(port),
      params: of("params").map((row) => ({ name: row.name?.trim() ?? "", node: row.node, param: row.inner })),
    };
    const state = store.getState();
    const command = setInterface(documentOf(state), scope, after);
    const made =
      preset && node !== null
        ? toPreset(apply(documentOf(state), command), scopeOf(state), node, name.trim())
        : null;
    // One step: undoing takes the preset and its interface back together.
    state.perform({ do: "all", commands: made === null ? [command] : [command, made.command] });
    close();
    if (made !== null && keep) void keepToo(name.trim());
  };
  const keepToo = async (called: string) => {
    try {
      await keepPreset(documentOf(store.getState()), called);
      void queryClient.invalidateQueries({ queryKey: keys.presets });
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      const taken = problem.status === 409;
      notices.show({
        tone: "warn",
        text: taken ? "editor:libraryTaken" : "editor:libraryFailed",
        params: { name: called },
        ...(taken ? { detail: "editor:libraryGraphOnly" } : { said: word(problem) }),
      });
    }
  };

  const put = (row: Row) => setRows((before) => new Map(before).set(keyOf(row), row));
  const nodes = inOrder(level).flatMap((id) => level.nodes.find((one) => one.id === id) ?? []);
  return (
    <Dialog
      title={t(preset ? "presetTitle" : "exposeTitle")}
      open
      onClose={close}
      width={620}
      foot={
        <>
          <span className="grow text-12 ink-3" role="status">
            {clash !== null && t("nameTwice", { name: clash })}
          </span>
          <Button onPress={close}>{t("cancel", { ns: "common" })}</Button>
          <Button kind="primary" isDisabled={nameProblem !== null || clash !== null} onPress={save}>
            {t(preset ? "savePreset" : "saveExpose")}
          </Button>
        </>
      }
    >
      {preset && (
        <div className="form-row expose-name">
          <span>{t("presetName")}</span>
          <span className="col grow">
            <input
              className="field"
              value={name}
              aria-label={t("presetName")}
              aria-invalid={nameProblem !== null}
              onChange={(event) => setName(event.target.value)}
            />
            <label className="row text-12 ink-2">
              <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} />
              {t("keepInLibrary")}
            </label>
            {nameProblem !== null && <span className="text-12 bad">{t(nameProblem)}</span>}
          </span>
        </div>
      )}
      <p className="text-12 ink-2 expose-text">{t(preset ? "presetText" : "exposeText")}</p>
      <div className="expose">
        {nodes.map((one) => (
          <Inner
            key={one.id}
            node={one}
            definition={types.of(one)}
            wired={level.edges.filter((edge) => edge.target === one.id).map((edge) => edge.targetHandle)}
            rows={rows}
            onPut={put}
          />
        ))}
      </div>
    </Dialog>
  );
}

interface InnerProps {
  node: GraphNode;
  definition: NodeDefinition | undefined;
  /** Inputs that have a wire inside. */
  wired: readonly string[];
  rows: ReadonlyMap<string, Row>;
  onPut: (row: Row) => void;
}

function Inner({ node, definition, wired, rows, onPut }: InnerProps) {
  const { t } = useTranslation("editor");
  const words = useWords();
  if (definition === undefined) return null;
  const entries = [
    ...definition.inputs.map((port) => ({ side: "inputs" as const, inner: port.name, type: port.type })),
    ...definition.outputs.map((port) => ({ side: "outputs" as const, inner: port.name, type: port.type })),
    ...definition.params
      .filter((param) => param.kind !== "preset" && param.kind !== "subgraph")
      .map((param) => ({
        side: "params" as const,
        inner: param.name,
        type: null,
        label: words.paramLabel(param),
      })),
  ];
  if (entries.length === 0) return null;
  const title = nodeTitle(node, words.title(definition));
  return (
    <fieldset className="expose-node">
      <legend className="row">
        <Icon name={iconOf(definition)} className="ink-2" />
        {title}
        <span className="text-12 ink-3">{node.id}</span>
      </legend>
      {entries.map((entry) => {
        const row = rows.get(keyOf({ ...entry, node: node.id }));
        const shown = row !== undefined && row.name !== null;
        const inside = entry.side === "inputs" && wired.includes(entry.inner);
        const label = "label" in entry ? entry.label : entry.inner.replaceAll("_", " ");
        return (
          <div className="expose-row" key={`${entry.side} ${entry.inner}`}>
            <label className="row grow">
              <input
                type="checkbox"
                checked={shown}
                disabled={inside && !shown}
                onChange={(event) =>
                  onPut({
                    side: entry.side,
                    node: node.id,
                    inner: entry.inner,
                    name: event.target.checked ? freeName(rows, entry.side, entry.inner) : null,
                  })
                }
              />
              {entry.type !== null && <PortShape type={entry.type} filled={inside} size={12} />}
              <span className="clip">{label}</span>
              <span className="text-12 ink-3">{inside ? t("wiredInside") : t(`side.${entry.side}`)}</span>
            </label>
            {shown && (
              <input
                className="field expose-as"
                aria-label={t("nameOutside", { name: label })}
                value={row.name ?? ""}
                onChange={(event) => onPut({ ...row, name: event.target.value })}
              />
            )}
          </div>
        );
      })}
    </fieldset>
  );
}

function freeName(rows: ReadonlyMap<string, Row>, side: Side, stem: string): string {
  const names = new Set([...rows.values()].filter((row) => row.side === side).map((row) => row.name));
  return fresh(stem, (name) => names.has(name));
}

function clashOf(rows: readonly Row[]): string | null {
  for (const side of ["outputs", "params"] as const) {
    const names = rows.flatMap((row) => (row.side === side && row.name !== null ? [row.name.trim()] : []));
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) return twice;
  }
  return null;
}
