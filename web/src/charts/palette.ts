// Colours and dash patterns of chart lines. Colour is never alone: each line has its own pattern and a label at its end.

const LOOKS: readonly { token: string; dash: number[] }[] = [
  { token: "--t-tensor", dash: [] },
  { token: "--t-model", dash: [5, 3] },
  { token: "--t-optim", dash: [1.5, 2.5] },
  { token: "--t-data", dash: [8, 3, 1.5, 3] },
  { token: "--t-loss", dash: [11, 3] },
  { token: "--t-metric", dash: [3, 2] },
];

export interface Look {
  color: string;
  dash: number[];
}

export interface Palette {
  looks: readonly Look[];
  ink: string;
  label: string;
  grid: string;
  axis: string;
  ground: string;
  font: string;
}

type Rgb = [number, number, number];

function rgbOf(hex: string): Rgb | null {
  const digits = /^#([0-9a-f]{6})$/i.exec(hex)?.[1];
  if (digits === undefined) return null;
  return [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)) as Rgb;
}

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast of two colours by WCAG 2, 1 … 21; 1 for what is no `#rrggbb`. */
export function contrast(one: string, other: string): number {
  const [a, b] = [rgbOf(one), rgbOf(other)];
  if (a === null || b === null) return 1;
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const TEXT_CONTRAST = 4.5;

/** `color` for small text on `ground`: as much of `ink` mixed in as it takes to be readable. */
export function readable(color: string, ground: string, ink: string): string {
  const [from, to] = [rgbOf(color), rgbOf(ink)];
  if (from === null || to === null) return ink;
  for (let share = 0; share < 1; share += 0.1) {
    const mixed = from.map((part, i) => Math.round(part + ((to[i] as number) - part) * share));
    const hex = `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    if (contrast(hex, ground) >= TEXT_CONTRAST) return hex;
  }
  return ink;
}

/** The current theme's values: a canvas cannot read CSS variables. */
export function readPalette(element: Element = document.documentElement): Palette {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    looks: LOOKS.map(({ token: name, dash }) => ({ color: token(name), dash })),
    ink: token("--ink"),
    label: token("--ink-3"),
    grid: token("--line"),
    axis: token("--edge"),
    ground: token("--surface"),
    font: token("--sans"),
  };
}

/** Token and dash pattern of the n-th line, for legends in HTML or SVG. */
export function lookOf(index: number): { token: string; dash: readonly number[] } {
  return LOOKS[((index % LOOKS.length) + LOOKS.length) % LOOKS.length] as { token: string; dash: number[] };
}
