import { useRef } from "react";
import { Menu, MenuItem, MenuSection } from "react-aria-components/Menu";
import { Popover } from "react-aria-components/Popover";
import { useTranslation } from "react-i18next";
import { Icon } from "../ui/Icon";
import { type CommandName, commandOf } from "./commands/list";
import { useCommands } from "./commands/use-commands";
import type { Point } from "./model/document";
import { useGraph } from "./store/editor";
import { useStageUi } from "./store/stage-ui";

const FOR_NODES: readonly (readonly CommandName[])[] = [
  ["open", "rename", "wire"],
  ["cut", "copy", "duplicate", "delete"],
  ["collapse", "bypass", "frame"],
  ["group", "ungroup", "expose", "preset"],
];
const FOR_CANVAS: readonly (readonly CommandName[])[] = [
  ["add", "note", "frame"],
  ["paste", "selectAll"],
  ["tidy", "fit", "map"],
  ["expose", "up"],
];

/** What can be done here: with the selected nodes, or with the canvas. */
export default function StageMenu({ at }: { at: Point }) {
  const { t } = useTranslation("editor");
  const { act, can } = useCommands();
  const chosen = useGraph((state) => state.selection.length > 0);
  const anchor = useRef<HTMLSpanElement>(null);
  const close = () => useStageUi.setState({ menu: null });
  const sections = (chosen ? FOR_NODES : FOR_CANVAS)
    .map((names) => names.filter(can))
    .filter((names) => names.length > 0);
  return (
    <>
      <span ref={anchor} className="stage-menu-anchor" style={{ left: at.x, top: at.y }} />
      <Popover
        className="popover"
        triggerRef={anchor}
        placement="bottom start"
        offset={2}
        isOpen
        onOpenChange={(open) => {
          if (!open) close();
        }}
      >
        <Menu
          className="list"
          aria-label={t(chosen ? "nodeMenu" : "canvasMenu")}
          autoFocus="first"
          onClose={close}
          onAction={(name) => {
            close();
            if (name === "add") useStageUi.getState().openSearch({ at, wire: null });
            // The menu gives the focus back first; then the command may put it elsewhere.
            else requestAnimationFrame(() => act(name as CommandName));
          }}
        >
          {sections.map((names) => (
            <MenuSection key={names[0]} aria-label={t(`command.${names[0] as CommandName}`)}>
              {names.map((name) => {
                const { icon, keys } = commandOf(name);
                return (
                  <MenuItem key={name} id={name} textValue={t(`command.${name}`)}>
                    {icon === undefined ? (
                      <span className="icon-room" />
                    ) : (
                      <Icon name={icon} className="ink-2" />
                    )}
                    <span className="grow">{t(`command.${name}`)}</span>
                    {keys[0] !== undefined && <span className="kbd">{keys[0].shown}</span>}
                  </MenuItem>
                );
              })}
            </MenuSection>
          ))}
        </Menu>
      </Popover>
    </>
  );
}
