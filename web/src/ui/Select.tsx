import type { ReactNode } from "react";
import { Button } from "react-aria-components/Button";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { Select as AriaSelect, SelectValue } from "react-aria-components/Select";
import { Icon } from "./Icon";

export interface SelectOption {
  id: string;
  label: string;
  note?: string;
  icon?: ReactNode;
  disabled?: boolean;
}

interface Props {
  label: string;
  options: readonly SelectOption[];
  value: string | null;
  onChange: (id: string) => void;
  placeholder?: string;
  disabled?: boolean;
  describedBy?: string | undefined;
}

/** A list of choices behind a button. `label` is its accessible name; the visible label stands beside it. */
export function Select({
  label,
  options,
  value,
  onChange,
  placeholder,
  disabled = false,
  describedBy,
}: Props) {
  return (
    <AriaSelect
      aria-label={label}
      aria-describedby={describedBy}
      value={value}
      onChange={(key) => {
        if (key !== null) onChange(String(key));
      }}
      isDisabled={disabled}
      placeholder={placeholder}
    >
      <Button className="field">
        <SelectValue className="select-value">
          {({ isPlaceholder, selectedText }) => (isPlaceholder ? placeholder : selectedText)}
        </SelectValue>
        <Icon name="down" />
      </Button>
      <Popover className="popover" offset={4}>
        <ListBox className="list" items={options}>
          {(option) => (
            <ListBoxItem id={option.id} textValue={option.label} isDisabled={option.disabled ?? false}>
              {option.icon}
              <span className="grow">{option.label}</span>
              {option.note !== undefined && <span className="list-note">{option.note}</span>}
              <Icon name="check" className="list-check" />
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}
