import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import type { ParamDefinition } from "../../api/types";
import { IconButton } from "../../ui/Button";
import { plainText } from "../../ui/CodeText";
import { Switch } from "../../ui/Switch";
import type { GraphNode } from "../model/document";
import { isDefault, valueIn } from "../model/params";
import { useEditor, useGraph } from "../store/editor";
import { scopeOf } from "../store/graph-store";
import { useWords } from "../words";
import { ChoiceParam } from "./fields/ChoiceParam";
import { CodeParam } from "./fields/CodeParam";
import { ColourParam } from "./fields/ColourParam";
import type { FieldProps } from "./fields/field";
import { NumberParam, rangeText } from "./fields/NumberParam";
import { FileParam, GroupParam } from "./fields/PlaceParams";
import { SecretParam } from "./fields/SecretParam";
import { TensorParam } from "./fields/TensorParam";
import { ListParam, TextParam } from "./fields/TextParam";

interface Props {
  /** One node, or several that all have this parameter. */
  nodes: readonly GraphNode[];
  param: ParamDefinition;
}

/** Kinds whose editors need the width of the panel. */
const WIDE: ReadonlySet<string> = new Set(["code", "tensor", "secret"]);
/** Kinds whose value is a place in the graph: there is no default to go back to. */
const NO_RESET: ReadonlySet<string> = new Set(["subgraph", "preset"]);

/** One parameter: its name on the left, what edits its kind on the right, range and meaning below while it has the focus. */
export function ParamField({ nodes, param }: Props) {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const words = useWords();
  const helpId = useId();
  const [focused, setFocused] = useState(false);
  const [refused, setRefused] = useState(false);
  const problems = useGraph((state) => state.problems);
  const trail = useGraph((state) => state.trail);
  const paths = new Set(nodes.map((node) => [...trail.map((module) => module.node), node.id].join("/")));
  const problem = problems.find(
    (candidate) => paths.has(candidate.node_id ?? "") && candidate.params.param === param.name,
  );
  const values = nodes.map((node) => valueIn(node, param));
  const value = values[0];
  const mixed = values.some((other) => JSON.stringify(other) !== JSON.stringify(value));
  const change = (next: unknown, merge?: string) => {
    const state = store.getState();
    setRefused(false);
    // What is changed in several nodes at once is undone at once.
    const step = nodes.length > 1 ? (merge ?? `several ${param.name} ${performance.now()}`) : merge;
    for (const node of nodes) {
      state.perform(
        { do: "param", scope: scopeOf(state), node: node.id, name: param.name, value: next },
        step,
      );
    }
  };
  const label = words.paramLabel(param);
  const help = [rangeText(param, t), words.paramDoc(param)].filter(Boolean).join(" ");
  const shown = focused || refused || problem !== undefined;
  const wide = WIDE.has(param.kind);
  const changed = nodes.some((node) => !isDefault(node, param)) && !NO_RESET.has(param.kind);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only watches where the focus is
    <div
      className={`form-row${wide ? " form-row-wide" : ""}`}
      data-param={param.name}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
    >
      <span className="form-label" title={plainText(param.doc)}>
        <span className="clip">{label}</span>
        {changed && (
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
        nodes={nodes}
        param={param}
        value={value}
        mixed={mixed}
        label={label}
        describedBy={shown ? helpId : undefined}
        invalid={problem !== undefined || refused}
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

function Control(props: FieldProps) {
  const { t } = useTranslation("canvas");
  const { param, value, mixed, label, change } = props;
  switch (param.kind) {
    case "int":
    case "float":
      return <NumberParam {...props} />;
    case "bool":
      return (
        <Switch label={label} checked={value === true && !mixed} onChange={change}>
          {mixed ? t("panel:mixed") : value === true ? t("on") : t("off")}
        </Switch>
      );
    case "choice":
      return <ChoiceParam {...props} />;
    case "subgraph":
    case "preset":
      return <GroupParam {...props} />;
    case "ints":
      return <ListParam {...props} />;
    case "code":
      return <CodeParam {...props} />;
    case "tensor":
      return <TensorParam {...props} />;
    case "colour":
      return <ColourParam {...props} />;
    case "secret":
      return <SecretParam {...props} />;
    case "file":
      return <FileParam {...props} />;
    default:
      return <TextParam {...props} />;
  }
}
