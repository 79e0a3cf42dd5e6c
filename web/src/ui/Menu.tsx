import type { ReactElement } from "react";
import { Menu as AriaMenu, MenuItem, MenuTrigger } from "react-aria-components/Menu";
import { Popover } from "react-aria-components/Popover";
import { Icon, type IconName } from "./Icon";

export interface MenuEntry {
  id: string;
  label: string;
  icon?: IconName;
  /** Why it is disabled, or what it does. */
  note?: string | undefined;
  keys?: string;
  disabled?: boolean;
  onAction: () => void;
}

interface Props {
  label: string;
  entries: readonly MenuEntry[];
  /** The button that opens it. */
  children: ReactElement;
}

export function Menu({ label, entries, children }: Props) {
  return (
    <MenuTrigger>
      {children}
      <Popover className="popover" offset={4} placement="bottom end">
        <AriaMenu
          aria-label={label}
          className="list"
          items={entries}
          disabledKeys={entries.filter((entry) => entry.disabled === true).map((entry) => entry.id)}
          onAction={(key) => entries.find((entry) => entry.id === key)?.onAction()}
        >
          {(entry) => (
            <MenuItem id={entry.id} textValue={entry.label}>
              {entry.icon !== undefined && <Icon name={entry.icon} className="ink-2" />}
              <span className="grow">
                {entry.label}
                {entry.note !== undefined && <span className="list-note"> {entry.note}</span>}
              </span>
              {entry.keys !== undefined && <span className="kbd">{entry.keys}</span>}
            </MenuItem>
          )}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
