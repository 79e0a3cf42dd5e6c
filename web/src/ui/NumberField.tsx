import type { KeyboardEvent } from "react";
import { Button } from "react-aria-components/Button";
import { Group } from "react-aria-components/Group";
import { Input } from "react-aria-components/Input";
import { NumberField as AriaNumberField } from "react-aria-components/NumberField";
import { Icon } from "./Icon";

interface Props {
  label: string;
  /** `null` shows an empty field. */
  value: number | null;
  onChange: (value: number | null) => void;
  min?: number | undefined;
  max?: number | undefined;
  /** How far one press on an arrow goes. */
  step?: number;
  integer?: boolean;
  unit?: string;
  placeholder?: string;
  invalid?: boolean;
  disabled?: boolean;
  describedBy?: string | undefined;
  /** Names of the arrows. */
  up: string;
  down: string;
}

const WHOLE = { maximumFractionDigits: 0, useGrouping: false } as const;
const PRECISE = { maximumSignificantDigits: 12, useGrouping: false } as const;

/** A number with arrows. The value is told when it is complete (Enter, blur or an arrow), never half typed. */
export function NumberField(props: Props) {
  const integer = props.integer === true;
  const nudge = (direction: 1 | -1) => {
    const next = Number(((props.value ?? 0) + direction * (props.step ?? 1)).toPrecision(12));
    props.onChange(Math.min(props.max ?? next, Math.max(props.min ?? next, next)));
  };
  // React Aria would round a fraction to its step whenever one is given: fractions have arrows of their own.
  const onKeyDownCapture = (event: KeyboardEvent) => {
    if (integer || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    nudge(event.key === "ArrowUp" ? 1 : -1);
  };
  const slot = (name: "increment" | "decrement") => (integer ? name : null);
  return (
    <AriaNumberField
      aria-label={props.label}
      aria-describedby={props.describedBy}
      value={props.value ?? Number.NaN}
      onChange={(value) => props.onChange(Number.isNaN(value) ? null : value)}
      minValue={props.min}
      maxValue={props.max}
      step={integer ? (props.step ?? 1) : undefined}
      formatOptions={integer ? WHOLE : PRECISE}
      isInvalid={props.invalid ?? false}
      isDisabled={props.disabled ?? false}
      isWheelDisabled
    >
      <Group className="field field-number" onKeyDownCapture={onKeyDownCapture}>
        <Input placeholder={props.placeholder} />
        {props.unit !== undefined && props.unit !== "" && <span className="unit">{props.unit}</span>}
        <span className="stepper">
          <Button
            slot={slot("increment")}
            aria-label={props.up}
            excludeFromTabOrder
            onPress={integer ? undefined : () => nudge(1)}
          >
            <Icon name="up" size={10} />
          </Button>
          <Button
            slot={slot("decrement")}
            aria-label={props.down}
            excludeFromTabOrder
            onPress={integer ? undefined : () => nudge(-1)}
          >
            <Icon name="down" size={10} />
          </Button>
        </span>
      </Group>
    </AriaNumberField>
  );
}
