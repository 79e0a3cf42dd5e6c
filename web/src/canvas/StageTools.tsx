import { useStore as useFlow } from "@xyflow/react";
import { Button as AriaButton } from "react-aria-components/Button";
import { Toolbar } from "react-aria-components/Toolbar";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { isGroupOpen } from "./commands/acts";
import { type CommandName, commandOf } from "./commands/list";
import { useCommands } from "./commands/use-commands";
import { findNode, levelOf, nodeTitle } from "./model/document";
import { useEditor, useGraph, useTypes } from "./store/editor";
import { documentOf } from "./store/graph-store";
import { useView } from "./store/view";

export function StageTools() {
  const { t } = useTranslation("canvas");
  const { act } = useCommands();
  const libraryOpen = useView((state) => state.libraryOpen);
  const mapOpen = useView((state) => state.mapOpen);
  return (
    <>
      <Toolbar className="float stage-tools" aria-label={t("canvasTools")}>
        <IconButton
          icon="library"
          label={t("library")}
          keys="L"
          className={libraryOpen ? "on" : ""}
          aria-pressed={libraryOpen}
          onPress={() => act("library")}
        />
        <Button kind="ghost" icon="plus" keys="/" onPress={() => act("add")}>
          {t("addNode")}
        </Button>
        <span className="float-line" />
        <Tool name="note" />
        <Tool name="frame" />
        <Tool name="tidy" />
      </Toolbar>
      <Breadcrumb />
      <Toolbar className="float stage-zoom" aria-label={t("view")}>
        <Tool name="zoomOut" />
        <Percent />
        <Tool name="zoomIn" />
        <span className="float-line" />
        <Tool name="fit" />
        <IconButton
          icon="map"
          label={t("editor:command.map")}
          keys="M"
          className={mapOpen ? "on" : ""}
          aria-pressed={mapOpen}
          onPress={() => act("map")}
        />
        <Tool name="keys" />
      </Toolbar>
    </>
  );
}

/** The scale, which also leads back to 100 %. Alone, for it renders with every step of zooming. */
function Percent() {
  const { t } = useTranslation("canvas");
  const { act } = useCommands();
  const percent = useFlow((state) => Math.round(state.transform[2] * 100));
  return (
    <AriaButton
      className="btn btn-ghost mono stage-percent"
      aria-label={`${percent} %, ${t("zoomReset")}`}
      onPress={() => act("zoomReset")}
    >
      {percent} %
    </AriaButton>
  );
}

function Tool({ name }: { name: CommandName }) {
  const { t } = useTranslation("editor");
  const { act } = useCommands();
  const { icon, keys } = commandOf(name);
  if (icon === undefined) return null;
  return (
    <IconButton
      icon={icon}
      label={t(`command.${name}`)}
      {...(keys[0] === undefined ? {} : { keys: keys[0].shown })}
      onPress={() => act(name)}
    />
  );
}

/** Where you are when a module is open. */
function Breadcrumb() {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const { act } = useCommands();
  const types = useTypes();
  const groupOpen = useGraph(isGroupOpen);
  const trail = useGraph((state) => state.trail);
  const doc = useGraph(documentOf);
  const name = useGraph((state) => state.name);
  if (trail.length === 0) return null;
  const titles = trail.map((module, depth) => {
    const node = findNode(levelOf(doc, trail[depth - 1]?.subgraph ?? null), module.node);
    return node ? nodeTitle(node, types.of(node)?.title) : module.node;
  });
  return (
    <nav className="stage-trail" aria-label={t("whereYouAre")}>
      <Button kind="ghost" size="s" onPress={() => store.getState().leave(0)}>
        {name}
      </Button>
      {titles.map((title, depth) => (
        <span className="row" key={trail[depth]?.node}>
          <Icon name="right" className="ink-3" />
          {depth === titles.length - 1 ? (
            <span className="strong" aria-current="location">
              {title}
            </span>
          ) : (
            <Button kind="ghost" size="s" onPress={() => store.getState().leave(depth + 1)}>
              {title}
            </Button>
          )}
        </span>
      ))}
      {groupOpen && (
        <Button size="s" onPress={() => act("expose")}>
          {t("editor:command.expose")}
        </Button>
      )}
    </nav>
  );
}
