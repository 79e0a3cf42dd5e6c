import { Toolbar } from "react-aria-components/Toolbar";
import { useTranslation } from "react-i18next";
import { IconButton } from "../ui/Button";
import { type CommandName, commandOf } from "./commands/list";
import { useCommands } from "./commands/use-commands";
import { useGraph } from "./store/editor";

const ALIGN: readonly CommandName[] = [
  "alignLeft",
  "alignCenter",
  "alignRight",
  "alignTop",
  "alignMiddle",
  "alignBottom",
];
const SPREAD: readonly CommandName[] = ["spreadAcross", "spreadDown"];
const MAKE: readonly CommandName[] = ["group", "frame"];

/** What can be done with several selected nodes at once. */
export function SelectionTools() {
  const { t } = useTranslation("editor");
  const count = useGraph((state) => state.selection.length);
  if (count < 2) return null;
  return (
    <Toolbar className="float selection-tools" aria-label={t("selectionTools")}>
      <span className="selection-count num">{t("selected", { count })}</span>
      <span className="float-line" />
      <Tools names={ALIGN} />
      <span className="float-line" />
      <Tools names={SPREAD} />
      <span className="float-line" />
      <Tools names={MAKE} />
    </Toolbar>
  );
}

function Tools({ names }: { names: readonly CommandName[] }) {
  const { t } = useTranslation("editor");
  const { act, can } = useCommands();
  return names.map((name) => {
    const { icon, keys } = commandOf(name);
    return (
      icon !== undefined && (
        <IconButton
          key={name}
          icon={icon}
          label={t(`command.${name}`)}
          keys={keys[0]?.shown ?? ""}
          isDisabled={!can(name)}
          onPress={() => act(name)}
        />
      )
    );
  });
}
