import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../ui/Icon";
import { ChoiceList } from "./ChoiceList";
import { type CommandName, commands } from "./commands/list";
import { useCommands } from "./commands/use-commands";
import { iconOf } from "./icons";
import { nodeTitle } from "./model/document";
import { score } from "./model/search";
import { useEditor, useGraph, useTypes } from "./store/editor";
import { currentLevel } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";
import { focusNode } from "./use-node-keys";

const MOST_NODES = 8;

/** Every command by its name, and every node of the open level. */
export default function Palette() {
  const { t, i18n } = useTranslation("editor");
  const { store } = useEditor();
  const { act, can } = useCommands();
  const types = useTypes();
  const level = useGraph(currentLevel);
  const [query, setQuery] = useState("");
  const items = useMemo(() => {
    const english = i18n.getFixedT("en", "editor");
    const found = commands
      .filter(({ name }) => name !== "palette")
      .map((command) => ({
        command,
        // The English name is found too: people read about commands in English.
        rank: Math.max(
          score(t(`command.${command.name}`), query),
          score(english(`command.${command.name}`), query),
        ),
      }))
      .filter(({ rank }) => rank > 0)
      .sort((a, b) => b.rank - a.rank);
    const nodes =
      query.trim() === ""
        ? []
        : level.nodes
            .map((node) => {
              const definition = types.of(node);
              const title = nodeTitle(node, definition?.title);
              return { node, definition, title, rank: score(title, query) };
            })
            .filter(({ rank }) => rank > 0)
            .sort((a, b) => b.rank - a.rank)
            .slice(0, MOST_NODES);
    return [
      ...found.map(({ command }, at) => {
        const { name, group, icon, keys } = command;
        const first = query.trim() === "" && found[at - 1]?.command.group !== group;
        return {
          id: `command ${name}`,
          ...(first ? { part: t(`commandGroup.${group}`) } : {}),
          disabled: !can(name),
          content: (
            <>
              {icon === undefined ? <span className="icon-room" /> : <Icon name={icon} className="ink-2" />}
              <span className="search-title grow">{t(`command.${name}`)}</span>
              {keys.map(({ shown }) => (
                <span className="kbd" key={shown}>
                  {shown}
                </span>
              ))}
            </>
          ),
        };
      }),
      ...nodes.map(({ node, definition, title }, at) => ({
        id: `node ${node.id}`,
        ...(at === 0 ? { part: t("goToNode") } : {}),
        content: (
          <>
            <Icon name={iconOf(definition)} className="ink-2" />
            <span className="search-title grow">{title}</span>
            <span className="text-12 ink-3">{node.id}</span>
          </>
        ),
      })),
    ];
  }, [query, level, types, can, t, i18n]);
  const close = () => useStageUi.setState({ paletteOpen: false });
  const choose = (id: string) => {
    close();
    const [kind, name = ""] = id.split(/ (.*)/s);
    if (kind === "node") {
      store.getState().select([name]);
      act("fitSelection");
      focusNode(name);
      return;
    }
    // The list gives the focus back first; then the command may put it elsewhere.
    requestAnimationFrame(() => act(name as CommandName));
  };
  return (
    <ChoiceList
      label={t("command.palette")}
      query={query}
      onQuery={setQuery}
      items={items}
      none={t("noCommand", { query })}
      onChoose={choose}
      onClose={close}
    />
  );
}
