import "./charts.css";
import { decimated } from "./line-data";
import { extent } from "./scales";

interface Props {
  values: ArrayLike<number>;
  width?: number;
  height?: number;
}

/** The shape of a series in a table row. Decoration: the numbers stand beside it. */
export function Sparkline({ values, width = 88, height = 22 }: Props) {
  const xs = Array.from({ length: values.length }, (_, i) => i);
  const points = decimated({ xs, ys: values }, 0, values.length - 1, Math.round(width / 2));
  const range = extent(points.ys, "linear");
  if (range === null || values.length < 2) return null;
  const [low, high] = range;
  const x = (value: number) => (1 + (value / (values.length - 1)) * (width - 2)).toFixed(1);
  const y = (value: number) =>
    (high === low ? height / 2 : height - 2 - ((value - low) / (high - low)) * (height - 4)).toFixed(1);
  let path = "";
  let pen = "M";
  points.ys.forEach((value, i) => {
    if (value === null) {
      pen = "M";
      return;
    }
    path += `${pen}${x(points.xs[i] as number)} ${y(value)}`;
    pen = "L";
  });
  return (
    <svg
      className="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}
