// Small pictures of numbers, as SVG in the page's own colours.
import { useTranslation } from "react-i18next";
import { cellText, rangeOf, shade } from "./numbers";

interface HistogramProps {
  counts: readonly number[];
  min: number;
  max: number;
  name: string;
}

/** How often numbers lie where, from `min` to `max`. */
export function Histogram({ counts, min, max, name }: HistogramProps) {
  const { t } = useTranslation("inspector");
  const most = Math.max(1, ...counts);
  const width = 100 / Math.max(1, counts.length);
  const peak = counts.indexOf(most);
  const at = min + ((peak + 0.5) / Math.max(1, counts.length)) * (max - min);
  return (
    <figure className="histogram">
      <svg
        viewBox="0 0 100 40"
        preserveAspectRatio="none"
        role="img"
        aria-label={t("histogramOf", { name, min: cellText(min), max: cellText(max), peak: cellText(at) })}
      >
        {counts.map((count, bin) => {
          const height = count === 0 ? 0 : Math.max(0.8, (count / most) * 39);
          return (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
              key={bin}
              x={bin * width + 0.15}
              y={40 - height}
              width={Math.max(0.2, width - 0.3)}
              height={height}
            />
          );
        })}
      </svg>
      <figcaption className="row mono-11 ink-3">
        <span>{cellText(min)}</span>
        <span className="grow" />
        <span>{cellText(max)}</span>
      </figcaption>
    </figure>
  );
}

/** Numbers as shaded squares; a number below 0 where others are above has the second colour. */
export function HeatMap({ rows, name }: { rows: readonly (readonly number[])[]; name: string }) {
  const { t } = useTranslation("inspector");
  const range = rangeOf(rows);
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return (
    <figure className="heat">
      <svg
        viewBox={`0 0 ${columns} ${rows.length}`}
        shapeRendering="crispEdges"
        role="img"
        aria-label={t("heatOf", {
          name,
          rows: rows.length,
          columns,
          min: cellText(range[0]),
          max: cellText(range[1]),
        })}
      >
        {rows.map((row, y) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a square is its place
          <g key={y}>
            {row.map((value, x) => (
              <rect
                // biome-ignore lint/suspicious/noArrayIndexKey: a square is its place
                key={x}
                x={x}
                y={y}
                width={1}
                height={1}
                className={
                  Number.isFinite(value)
                    ? value < 0 && range[1] > 0
                      ? "heat-below"
                      : "heat-above"
                    : "heat-none"
                }
                fillOpacity={Number.isFinite(value) ? shade(value, range) : 1}
              />
            ))}
          </g>
        ))}
      </svg>
      <figcaption className="row mono-11 ink-3">
        <span>{cellText(range[0])}</span>
        <i
          className={range[0] < 0 && range[1] > 0 ? "heat-key heat-key-both" : "heat-key"}
          aria-hidden="true"
        />
        <span>{cellText(range[1])}</span>
      </figcaption>
    </figure>
  );
}

const BOX = { width: 280, height: 150, left: 4, right: 4, top: 6, bottom: 6 };

function placer(range: readonly [number, number], from: number, to: number): (value: number) => number {
  const [low, high] = range;
  return (value) => (high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from));
}

/** One row of numbers as a line; where there is no number the line is broken. */
export function LineOf({ values, first, name }: { values: readonly number[]; first: number; name: string }) {
  const { t } = useTranslation("inspector");
  const range = rangeOf([values]);
  const x = placer([0, Math.max(1, values.length - 1)], BOX.left, BOX.width - BOX.right);
  const y = placer(range, BOX.height - BOX.bottom, BOX.top);
  let path = "";
  let pen = "M";
  values.forEach((value, at) => {
    if (!Number.isFinite(value)) {
      pen = "M";
      return;
    }
    path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return (
    <figure className="drawing">
      <svg
        viewBox={`0 0 ${BOX.width} ${BOX.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t("lineOf", {
          name,
          count: values.length,
          min: cellText(range[0]),
          max: cellText(range[1]),
        })}
      >
        <path className="drawing-line" d={path} vectorEffect="non-scaling-stroke" />
      </svg>
      <figcaption className="row mono-11 ink-3">
        <span>
          [{first}] … [{first + values.length - 1}]
        </span>
        <span className="grow" />
        <span>
          {cellText(range[0])} … {cellText(range[1])}
        </span>
      </figcaption>
    </figure>
  );
}

/** Rows of two numbers as points. */
export function ScatterOf({ rows, name }: { rows: readonly (readonly number[])[]; name: string }) {
  const { t } = useTranslation("inspector");
  const points = rows.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b)) as [number, number][];
  const across = rangeOf(points.map(([a]) => [a]));
  const up = rangeOf(points.map(([, b]) => [b]));
  const x = placer(across, BOX.left + 3, BOX.width - BOX.right - 3);
  const y = placer(up, BOX.height - BOX.bottom - 3, BOX.top + 3);
  return (
    <figure className="drawing">
      <svg
        viewBox={`0 0 ${BOX.width} ${BOX.height}`}
        role="img"
        aria-label={t("scatterOf", { name, count: points.length })}
      >
        {points.map(([a, b], at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a point is its place
          <circle key={at} className="drawing-point" cx={x(a)} cy={y(b)} r={2} />
        ))}
      </svg>
      <figcaption className="row mono-11 ink-3">
        <span>
          [0] {cellText(across[0])} … {cellText(across[1])}
        </span>
        <span className="grow" />
        <span>
          [1] {cellText(up[0])} … {cellText(up[1])}
        </span>
      </figcaption>
    </figure>
  );
}
