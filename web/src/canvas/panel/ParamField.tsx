import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import type { GraphProblem, ParamDefinition } from "../../api/types";
import { IconButton } from "../../ui/Button";
import { plainText } from "../../ui/CodeText";
import { NumberField } from "../../ui/NumberField";
import { Segmented } from "../../ui/Segmented";
import { Select } from "../../ui/Select";
import { Switch } from "../../ui/Switch";
import { countText } from "../format";
import type { GraphNode } from "../model/document";
import { bounds, inRange, isDefault, valueIn } from "../model/params";
import { useEditor, useGraph } from "../store/editor";
import { nodePath, scopeOf } from "../store/graph-store";
import { useWords } from "../words";

interface Props {
  node: GraphNode;
  param: ParamDefinition;
}

/** One parameter: its name on the left, what edits its kind on the right, range and meaning below while it has the focus. */
export function ParamField({ node, param }: Props) {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const words = useWords();
  const helpId = useId();
  const [focused, setFocused] = useState(false);
  const [refused, setRefused] = useState(false);
  const path = useGraph((state) => nodePath(state, node.id));
  const problem = useGraph((state) => state.problems).find(
    (candidate: GraphProblem) => candidate.node_id === path && candidate.params.param === param.name,
  );
  const value = valueIn(node, param);
  const change = (next: unknown, merge?: string) => {
    const state = store.getState();
    state.perform(
      { do: "param", scope: scopeOf(state), node: node.id, name: param.name, value: next },
      merge,
    );
  };
  const label = words.paramLabel(param);
  const help = [rangeText(param, t), words.paramDoc(param)].filter(Boolean).join(" ");
  const shown = focused || refused || problem !== undefined;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only watches where the focus is
    <div className="form-row" onFocus={() => setFocused(true)} onBlur={() => setFocused(false)}>
      <span className="form-label" title={plainText(param.doc)}>
        <span className="clip">{label}</span>
        {!isDefault(node, param) && param.kind !== "subgraph" && (
          <IconButton
            icon="undo"
            size="s"
            className="form-reset"
            label={t("toDefault", { name: label })}
            onPress={() => change(undefined)}
          />
        )}
      </span>
      <Control
        node={node}
        param={param}
        value={value}
        label={label}
        describedBy={shown ? helpId : undefined}
        invalid={problem !== undefined}
        change={change}
        onRefused={setRefused}
      />
      {shown && (problem !== undefined || help !== "") && (
        <p id={helpId} className={`form-help${problem !== undefined || refused ? " bad-text" : ""}`}>
          {problem !== undefined ? words.problem(problem) : help}
        </p>
      )}
    </div>
  );
}

interface ControlProps extends Props {
  value: unknown;
  label: string;
  describedBy: string | undefined;
  invalid: boolean;
  change: (next: unknown, merge?: string) => void;
  onRefused: (refused: boolean) => void;
}

function Control(props: ControlProps) {
  const { t } = useTranslation("canvas");
  const words = useWords();
  const { param, value, label, change, node } = props;
  const up = t("increase", { ns: "common" });
  const down = t("decrease", { ns: "common" });
  switch (param.kind) {
    case "int":
    case "float": {
      const { min, max } = bounds(param);
      const integer = param.kind === "int";
      return (
        <NumberField
          label={label}
          value={typeof value === "number" ? value : null}
          onChange={(next) => {
            if (next === null) {
              if (param.optional === true) change(null);
              return;
            }
            const legal = inRange(param, next);
            props.onRefused(!legal);
            if (legal) change(next);
          }}
          min={min}
          max={max}
          integer={integer}
          step={integer ? 1 : stepFor(value)}
          unit={words.unit(param.unit ?? "")}
          placeholder={param.optional === true ? t("auto") : undefined}
          invalid={props.invalid}
          describedBy={props.describedBy}
          up={up}
          down={down}
        />
      );
    }
    case "bool":
      return (
        <Switch label={label} checked={value === true} onChange={change}>
          {value === true ? t("on") : t("off")}
        </Switch>
      );
    case "choice": {
      const choices = param.choices ?? [];
      const options = choices.map((choice, at) => ({ id: String(at), label: words.choiceLabel(choice) }));
      const at = choices.findIndex((choice) => choice.value === value);
      const pick = (id: string) => change(choices[Number(id)]?.value);
      const short = choices.length <= 3 && widthOf(options.map((option) => option.label)) <= 14;
      if (short && at >= 0) {
        return <Segmented label={label} options={options} value={String(at)} onChange={pick} />;
      }
      return (
        <Select
          label={label}
          options={options}
          value={at < 0 ? null : String(at)}
          onChange={pick}
          placeholder={value === null ? t("choose") : String(value)}
          describedBy={props.describedBy}
        />
      );
    }
    case "subgraph":
      return <span className="field field-fixed mono">{typeof value === "string" ? value : "–"}</span>;
    case "ints":
      return (
        <TextControl
          {...props}
          text={Array.isArray(value) ? value.join(", ") : ""}
          read={(text) => {
            const parts = text.split(/[\s,×x]+/).filter(Boolean);
            const numbers = parts.map(Number);
            return numbers.every((number) => Number.isInteger(number)) ? numbers : undefined;
          }}
        />
      );
    case "code":
      return (
        <textarea
          className="field mono"
          aria-label={label}
          rows={4}
          spellCheck={false}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => change(event.target.value, `param ${node.id} ${param.name}`)}
        />
      );
    default:
      return (
        <input
          className="field"
          aria-label={label}
          aria-describedby={props.describedBy}
          type={param.kind === "secret" ? "password" : "text"}
          autoComplete="off"
          value={typeof value === "string" ? value : ""}
          onChange={(event) => {
            const text = event.target.value;
            change(text === "" && param.optional === true ? null : text, `param ${node.id} ${param.name}`);
          }}
        />
      );
  }
}

interface TextControlProps extends ControlProps {
  text: string;
  /** `undefined` when the text says nothing legal. */
  read: (text: string) => unknown;
}

/** Text that becomes a value when it is complete. */
function TextControl({ text, read, label, change, describedBy, onRefused }: TextControlProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    if (draft === null) return;
    const value = read(draft);
    onRefused(value === undefined);
    if (value !== undefined) change(value);
    setDraft(null);
  };
  return (
    <input
      className="field mono"
      aria-label={label}
      aria-describedby={describedBy}
      value={draft ?? text}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
      }}
    />
  );
}

/** How much room labels take, in letters: Chinese characters are twice as wide. */
function widthOf(labels: readonly string[]): number {
  return labels.join("").replace(/\p{Script=Han}/gu, "  ").length;
}

/** A press on an arrow changes a fraction by a tenth of its size. */
function stepFor(value: unknown): number {
  if (typeof value !== "number" || value === 0) return 0.01;
  return (
    10 ** Math.floor(Math.log10(Math.abs(value)) - (Number.isInteger(Math.log10(Math.abs(value))) ? 1 : 0))
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

export function rangeText(param: ParamDefinition, t: Translate): string {
  if (param.kind !== "int" && param.kind !== "float") return "";
  const { min, max } = bounds(param);
  const least = min === undefined ? null : countText(min);
  const most = max === undefined ? null : countText(max);
  const open = {
    openMin: param.kind === "float" && param.exclusive_min === true,
    openMax: param.kind === "float" && param.exclusive_max === true,
  };
  if (least !== null && most !== null) {
    const key = open.openMin ? (open.openMax ? "between" : "aboveTo") : open.openMax ? "toBelow" : "fromTo";
    return t(`range.${key}`, { least, most });
  }
  if (least !== null) return t(open.openMin ? "range.above" : "range.atLeast", { least });
  if (most !== null) return t(open.openMax ? "range.below" : "range.atMost", { most });
  return "";
}
