import { useTranslation } from "react-i18next";
import { FilePicker } from "../../../files/FilePicker";
import { Select } from "../../../ui/Select";
import { useGraph } from "../../store/editor";
import { documentOf } from "../../store/graph-store";
import type { FieldProps } from "./field";

/** One of the graph's own groups or presets, by name. */
export function GroupParam({ param, value, mixed, label, describedBy, change }: FieldProps) {
  const { t } = useTranslation("panel");
  const preset = param.kind === "preset";
  const groups = useGraph((state) => {
    const doc = documentOf(state);
    return (preset ? doc.presets : doc.subgraphs) as Record<string, unknown> | undefined;
  });
  const names = Object.keys(groups ?? {});
  const own = typeof value === "string" ? value : "";
  if (names.length === 0 && own === "") {
    return <span className="field field-fixed ink-3">{t(preset ? "noPresets" : "noGroups")}</span>;
  }
  const known = names.includes(own);
  const options = names.map((name) => ({ id: name, label: name }));
  if (own !== "" && !known) options.push({ id: own, label: t("goneName", { name: own }) });
  return (
    <Select
      label={label}
      options={options}
      value={own === "" || mixed ? null : own}
      onChange={(name) => change(name)}
      placeholder={t(mixed ? "mixed" : "chooseName")}
      describedBy={describedBy}
    />
  );
}

/** A file or folder below the server's folder of files. */
export function FileParam({ nodes, param, value, mixed, label, describedBy, invalid, change }: FieldProps) {
  const { t } = useTranslation("panel");
  const ids = nodes.map((node) => node.id).join(",");
  return (
    <FilePicker
      label={label}
      value={typeof value === "string" && !mixed ? value : ""}
      onChange={(path) => change(path, `param ${ids} ${param.name}`)}
      choose={param.name === "folder" ? "folder" : "file"}
      placeholder={mixed ? t("mixed") : undefined}
      invalid={invalid}
      describedBy={describedBy}
    />
  );
}
