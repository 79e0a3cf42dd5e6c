import { useTranslation } from "react-i18next";
import { Segmented } from "../../../ui/Segmented";
import { Select } from "../../../ui/Select";
import { useWords } from "../../words";
import type { FieldProps } from "./field";

/** Few short choices side by side, else a list. */
export function ChoiceParam({ param, value, mixed, label, describedBy, change }: FieldProps) {
  const { t } = useTranslation("canvas");
  const words = useWords();
  const choices = param.choices ?? [];
  const options = choices.map((choice, at) => ({ id: String(at), label: words.choiceLabel(choice) }));
  const at = mixed ? -1 : choices.findIndex((choice) => choice.value === value);
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
      placeholder={mixed ? t("panel:mixed") : value === null ? t("choose") : String(value)}
      describedBy={describedBy}
    />
  );
}

/** How much room labels take, in letters: Chinese characters are twice as wide. */
function widthOf(labels: readonly string[]): number {
  return labels.join("").replace(/\p{Script=Han}/gu, "  ").length;
}
