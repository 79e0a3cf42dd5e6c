import type { ReactNode } from "react";
import { Switch as AriaSwitch } from "react-aria-components/Switch";

interface Props {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
  /** A word beside it, such as “on”. */
  children?: ReactNode;
}

export function Switch({ label, checked, onChange, disabled = false, children }: Props) {
  return (
    <AriaSwitch
      aria-label={label}
      className="switch"
      isSelected={checked}
      onChange={onChange}
      isDisabled={disabled}
    >
      <span className="track" />
      {children !== undefined && <span className="text-12 ink-3">{children}</span>}
    </AriaSwitch>
  );
}
