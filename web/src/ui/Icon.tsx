import { type IconName, icons } from "./icons";

interface Props {
  name: IconName;
  /** Said by screen readers; without it the icon is decoration. */
  label?: string;
  size?: number;
  filled?: boolean;
  className?: string;
}

export function Icon({ name, label, size = 16, filled = false, className = "" }: Props) {
  const shared = {
    className: `icon${filled ? " icon-filled" : ""}${name === "running" ? " turning" : ""} ${className}`,
    viewBox: "0 0 16 16",
    width: size,
    height: size,
  };
  if (label === undefined) {
    return (
      <svg {...shared} aria-hidden="true">
        {icons[name]}
      </svg>
    );
  }
  return (
    <svg {...shared} role="img" aria-label={label}>
      <title>{label}</title>
      {icons[name]}
    </svg>
  );
}

export type { IconName };
