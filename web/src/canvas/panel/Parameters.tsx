import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLive } from "../../api";
import type { NodeDefinition } from "../../api/types";
import { plainText } from "../../ui/CodeText";
import { Icon } from "../../ui/Icon";
import { shapeText } from "../format";
import { findNode, type GraphNode, nodeTitle } from "../model/document";
import { type FormRow, formRows, isDefault } from "../model/params";
import { factOf, knownShapeText } from "../model/shapes";
import { PortShape } from "../PortShape";
import { useEditor, useGraph } from "../store/editor";
import { currentLevel, nodePath, scopeOf } from "../store/graph-store";
import { useRunView } from "../store/run-view";
import { useWords } from "../words";
import { ParamField } from "./ParamField";

interface Props {
  node: GraphNode;
  definition: NodeDefinition | undefined;
}

export function Parameters({ node, definition }: Props) {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const words = useWords();
  const run = useRunView();
  const path = useGraph((state) => nodePath(state, node.id));
  const problems = useGraph((state) => state.problems).filter((problem) => problem.node_id === path);
  const error = useLive(run?.runId ?? null, (live) => live?.nodes[node.id]?.error);
  const stale = run?.changed.has(node.id) === true;
  const inputProblems = problems.filter((problem) => problem.params.param === undefined);
  return (
    <div className="form">
      {run?.active === true && (
        <p className="note live">
          <Icon name="info" />
          <span>{t("runningNote")}</span>
        </p>
      )}
      {error && !stale && (
        <p className="note bad" role="alert">
          <Icon name="failed" />
          <span>{words.problem(error)}</span>
        </p>
      )}
      {inputProblems.map((problem) => (
        <p className="note warn" key={problem.message}>
          <Icon name="warning" />
          <span>{words.problem(problem)}</span>
        </p>
      ))}
      <div className="form-row">
        <span>{t("name")}</span>
        <input
          className="field"
          aria-label={t("name")}
          value={node.data.label ?? ""}
          placeholder={definition?.title ?? node.type}
          onChange={(event) => {
            const state = store.getState();
            state.perform(
              { do: "label", scope: scopeOf(state), node: node.id, label: event.target.value },
              `label ${path}`,
            );
          }}
        />
      </div>
      {definition !== undefined && (
        <>
          <Rows rows={formRows(node, definition, false)} node={node} />
          <Advanced node={node} definition={definition} />
          <Inputs node={node} definition={definition} />
        </>
      )}
      {definition === undefined && <UnknownParams node={node} />}
    </div>
  );
}

function Rows({ rows, node }: { rows: readonly FormRow[]; node: GraphNode }) {
  const groups: { nested: boolean; rows: FormRow[] }[] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last !== undefined && last.nested === row.nested && row.nested) last.rows.push(row);
    else groups.push({ nested: row.nested, rows: [row] });
  }
  return groups.map((group) =>
    group.nested ? (
      <div className="form-nested" key={group.rows[0]?.param.name}>
        {group.rows.map((row) => (
          <ParamField key={row.param.name} nodes={[node]} param={row.param} />
        ))}
      </div>
    ) : (
      group.rows.map((row) => <ParamField key={row.param.name} nodes={[node]} param={row.param} />)
    ),
  );
}

function Advanced({ node, definition }: { node: GraphNode; definition: NodeDefinition }) {
  const { t } = useTranslation("canvas");
  const [open, setOpen] = useState(false);
  const rows = formRows(node, definition, true);
  if (rows.length === 0) return null;
  const changed = rows.filter((row) => !isDefault(node, row.param)).length;
  return (
    <>
      <button type="button" className="form-fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} className="ink-3" />
        <span className="grow">{t("advanced")}</span>
        <span className="text-12 ink-3">
          {changed === 0
            ? t("allDefault", { count: rows.length })
            : t("someChanged", { count: rows.length, changed })}
        </span>
      </button>
      {open && <Rows rows={rows} node={node} />}
    </>
  );
}

function Inputs({ node, definition }: { node: GraphNode; definition: NodeDefinition }) {
  const { t } = useTranslation("canvas");
  const { catalog, store } = useEditor();
  const level = useGraph(currentLevel);
  const run = useRunView();
  const outputs = useLive(run?.runId ?? null, (live) => live?.nodes);
  const shapes = useGraph((state) => state.shapes);
  const trail = useGraph((state) => state.trail).map((module) => module.node);
  if (definition.inputs.length === 0) return null;
  return (
    <>
      <h3 className="form-section">{t("inputs")}</h3>
      <ul className="form-inputs">
        {definition.inputs.map((port) => {
          const edge = level.edges.find((wire) => wire.target === node.id && wire.targetHandle === port.name);
          const source = edge && findNode(level, edge.source);
          const shape =
            edge === undefined || source === undefined
              ? ""
              : shapeText(outputs?.[source.id]?.outputs[edge.sourceHandle]?.shape) ||
                knownText(factOf(shapes, [...trail, source.id].join("/"), edge.sourceHandle)?.shape);
          return (
            <li key={port.name} title={plainText(port.doc)}>
              <PortShape type={port.type} filled={edge !== undefined} />
              <span className="form-input-name">{port.name.replaceAll("_", " ")}</span>
              {source === undefined ? (
                <span className="text-12 ink-3 clip grow num">
                  {port.required === false ? t("optional") : t("notWired")}
                </span>
              ) : (
                <button
                  type="button"
                  className="link text-12 clip grow num"
                  onClick={() => store.getState().select([source.id])}
                >
                  {nodeTitle(source, catalog.get(source.type)?.title)}
                  {shape !== "" && ` · ${shape}`}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

function knownText(shape: readonly (number | null)[] | undefined): string {
  return shape === undefined ? "" : knownShapeText(shape);
}

/** A node of a type that is not installed keeps what it has; it can be read here. */
function UnknownParams({ node }: { node: GraphNode }) {
  const { t } = useTranslation("canvas");
  return (
    <>
      <p className="note">
        <Icon name="info" />
        <span>{t("keptAsItIs")}</span>
      </p>
      <dl className="facts">
        {Object.entries(node.data.params).map(([name, value]) => (
          <div key={name} className="facts-row">
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
