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
