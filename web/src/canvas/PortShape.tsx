import { type PortType, portType } from "./model/catalog";

const COLOUR: Record<PortType, string> = {
  tensor: "var(--t-tensor)",
  dataset: "var(--t-data)",
  model: "var(--t-model)",
  optimizer: "var(--t-optim)",
  loss: "var(--t-loss)",
  metrics: "var(--t-metric)",
  value: "var(--t-value)",
  any: "var(--t-any)",
};

const SHAPE: Record<PortType, React.ReactNode> = {
  tensor: <circle cx="7" cy="7" r="4.4" />,
  dataset: <rect x="2.8" y="2.8" width="8.4" height="8.4" rx=".6" />,
  model: <path d="M4.3 2.2h5.4L12.4 7l-2.7 4.8H4.3L1.6 7z" />,
  optimizer: <path d="M7 1.3 12.7 7 7 12.7 1.3 7z" />,
  loss: <path d="M1.8 2.8h10.4L7 12.2z" />,
  metrics: <path d="M3 1.8a5.2 5.2 0 0 1 0 10.4z" transform="translate(1.4 0)" />,
  value: <rect x="1.5" y="4.3" width="11" height="5.4" rx="2.7" />,
  any: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <circle cx="7" cy="7" r="1.2" />
    </>
  ),
};

export function typeColour(type: string): string {
  return COLOUR[portType(type)];
}

interface Props {
  type: string;
  /** Wired ports are filled, free ones hollow. */
  filled: boolean;
  size?: number;
}

/** A data type's own shape in its own colour. Decoration: the type's name is said elsewhere. */
export function PortShape({ type, filled, size = 14 }: Props) {
  return (
    <svg
      className="port-shape"
      viewBox="0 0 14 14"
      width={size}
      height={size}
      aria-hidden="true"
      style={{
        color: typeColour(type),
        fill: filled ? "currentColor" : "var(--surface)",
        strokeWidth: filled ? 1.6 : 1.8,
      }}
    >
      {SHAPE[portType(type)]}
    </svg>
  );
}
