import type { ReactElement, ReactNode, Ref } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components/Button";
import { Icon, type IconName } from "./Icon";
import { Tip } from "./Tooltip";

export type ButtonKind = "plain" | "primary" | "ghost" | "danger";
export type ButtonSize = "s" | "m" | "l";

interface Common extends Omit<AriaButtonProps, "className" | "children" | "style"> {
  kind?: ButtonKind;
  size?: ButtonSize;
  className?: string;
  ref?: Ref<HTMLButtonElement>;
}

export function buttonClass(
  kind: ButtonKind = "plain",
  size: ButtonSize = "m",
  icon = false,
  more = "",
): string {
  return [
    "btn",
    kind === "plain" ? "" : `btn-${kind}`,
    size === "m" ? "" : `btn-${size}`,
    icon ? "btn-icon" : "",
    more,
  ]
    .filter(Boolean)
    .join(" ");
}

interface ButtonProps extends Common {
  icon?: IconName;
  iconFilled?: boolean;
  /** The shortcut, shown inside. */
  keys?: string;
  children?: ReactNode;
}

export function Button({
  kind,
  size,
  className,
  icon,
  iconFilled = false,
  keys,
  children,
  ...rest
}: ButtonProps) {
  return (
    <AriaButton {...rest} className={buttonClass(kind, size, false, className)}>
      {icon !== undefined && <Icon name={icon} filled={iconFilled} />}
      {children}
      {keys !== undefined && <span className="kbd">{keys}</span>}
    </AriaButton>
  );
}

interface IconButtonProps extends Common {
  icon: IconName;
  /** Its name: said by screen readers and shown as a tooltip. */
  label: string;
  keys?: string;
}

export function IconButton({
  kind = "ghost",
  size,
  className,
  icon,
  label,
  keys,
  ...rest
}: IconButtonProps): ReactElement {
  return (
    <Tip text={label} keys={keys}>
      <AriaButton {...rest} aria-label={label} className={buttonClass(kind, size, true, className)}>
        <Icon name={icon} />
      </AriaButton>
    </Tip>
  );
}
