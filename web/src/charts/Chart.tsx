import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import "uplot/dist/uPlot.min.css";
import { useShownTheme } from "../app/theme";
import { Button } from "../ui/Button";
import "./charts.css";
import { metricText, tickText } from "./format";
import { lastFinite } from "./line-data";
import { lookOf, readPalette } from "./palette";
import { type ChartLine, Plot, type Reading } from "./plot";
import type { ScaleKind } from "./scales";

interface Props {
  title: string;
  lines: readonly ChartLine[];
  scale?: ScaleKind;
  /** Weight of the past, 0 … 0.99. */
  smoothing?: number;
  xText?: (x: number) => string;
  /** The word before the position under the pointer, such as “step”. */
  xName?: string;
  /** How far the axis will reach when the run ends, if that is known. */
  xEnd?: number | undefined;
  /** Charts with the same key share their cursor. */
  syncKey?: string;
  className?: string;
}

/** Lines over a common axis. Drag zooms, double click shows everything again. */
export function Chart({
  title,
  lines,
  scale = "linear",
  smoothing = 0,
  xText = tickText,
  xName = "",
  xEnd,
  syncKey,
  className = "",
}: Props) {
  const { t } = useTranslation("charts");
  const theme = useShownTheme();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const [reading, setReading] = useState<Reading | null>(null);
  const [zoomed, setZoomed] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes what the tokens resolve to
  const palette = useMemo(() => readPalette(), [theme]);
  const settings = useMemo(
    () => ({ scale, smoothing, xText, palette, xEnd }),
    [scale, smoothing, xText, palette, xEnd],
  );
  const latest = useRef({ lines, settings });
  latest.current = { lines, settings };

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const made = new Plot(
      element,
      latest.current.settings,
      { onRead: setReading, onZoom: setZoomed },
      syncKey,
    );
    plot.current = made;
    made.update(latest.current.lines, latest.current.settings);
    const observer = new ResizeObserver(() => made.resize(element.clientWidth, element.clientHeight));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [syncKey]);

  useEffect(() => plot.current?.update(lines, settings), [lines, settings]);

  const summary = lines.map((line) => {
    const at = lastFinite(line.ys);
    const value = at < 0 ? "" : metricText(line.ys[at] as number);
    return [line.label, value].filter(Boolean).join(" ");
  });
  const points = lines.reduce((sum, line) => sum + line.xs.length, 0);
  return (
    <figure className={`chart ${className}`}>
      <figcaption className="chart-head">
        <span className="chart-title">{title}</span>
        {reading && (
          <span className="chart-reading">
            <span className="ink-3">
              {xName} {xText(reading.x)}
            </span>
            {reading.values.map((value) => (
              <span key={value.key} className="chart-value">
                <LineSample look={value.look} />
                {value.label} {metricText(value.value)}
              </span>
            ))}
          </span>
        )}
        <span className="grow" />
        {zoomed && (
          <Button size="s" onPress={() => plot.current?.resetZoom()}>
            {t("showAll")}
          </Button>
        )}
      </figcaption>
      <div
        ref={host}
        className="chart-plot"
        role="img"
        aria-label={t("summary", { title, count: points, values: summary.join(", ") })}
        data-points={points}
      />
    </figure>
  );
}

/** A short piece of a line, as it looks in the plot. */
export function LineSample({ look }: { look: number }) {
  const { token, dash } = lookOf(look);
  return (
    <svg width="16" height="8" viewBox="0 0 16 8" aria-hidden="true">
      <path d="M0 4h16" stroke={`var(${token})`} strokeWidth="1.75" strokeDasharray={dash.join(" ")} />
    </svg>
  );
}
