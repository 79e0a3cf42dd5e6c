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
  /** Distance of one press on an arrow; also the grid of legal values when `integer`. */
  step?: number;
  integer?: boolean;
  unit?: string;
  placeholder?: string;
  invalid?: boolean;
  disabled?: boolean;
  onFocusChange?: (focused: boolean) => void;
  describedBy?: string | undefined;
  up: string;
  down: string;
}

const PLAIN = { maximumFractionDigits: 0, useGrouping: false } as const;
const PRECISE = { maximumSignificantDigits: 12, useGrouping: false } as const;

/** A number with steppers. The value is told when it is complete (Enter, blur or a stepper), never half typed. */
export function NumberField(props: Props) {
  return (
    <AriaNumberField
      aria-label={props.label}
      aria-describedby={props.describedBy}
      value={props.value ?? Number.NaN}
      onChange={(value) => props.onChange(Number.isNaN(value) ? null : value)}
      onFocusChange={props.onFocusChange}
      minValue={props.min}
      maxValue={props.max}
      step={props.integer === true ? (props.step ?? 1) : undefined}
      formatOptions={props.integer === true ? PLAIN : PRECISE}
      isInvalid={props.invalid ?? false}
      isDisabled={props.disabled ?? false}
      isWheelDisabled
    >
      <Group className="field field-number">
        <Input placeholder={props.placeholder} />
        {props.unit !== undefined && props.unit !== "" && <span className="unit">{props.unit}</span>}
        <span className="stepper">
          <Button slot="increment" aria-label={props.up}>
            <Icon name="up" size={10} />
          </Button>
          <Button slot="decrement" aria-label={props.down}>
            <Icon name="down" size={10} />
          </Button>
        </span>
      </Group>
    </AriaNumberField>
  );
}
