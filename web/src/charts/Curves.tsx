import type { TFunction } from "i18next";
import { lazy, Suspense, useId, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { NodeProgress, Series } from "../api";
import { Button } from "../ui/Button";
import { Segmented } from "../ui/Segmented";
import { Slider } from "../ui/Slider";
import "./charts.css";
import { axesFor, curvesOf, type XAxis } from "./curves";
import { clockText, tickText } from "./format";
import type { ScaleKind } from "./scales";

// The plotting library comes when there is something to plot.
const Chart = lazy(async () => ({ default: (await import("./Chart")).Chart }));

export interface CurveView {
  scale: ScaleKind;
  axis: XAxis;
  /** Weight of the past, 0 … 0.99. */
  smoothing: number;
}

export const DEFAULT_VIEW: CurveView = { scale: "linear", axis: "step", smoothing: 0.6 };

interface ControlsProps {
  view: CurveView;
  series: readonly Series[];
  onChange: (view: CurveView) => void;
}

export function CurveControls({ view, series, onChange }: ControlsProps) {
  const { t } = useTranslation("charts");
  const axes = axesFor(series);
  return (
    <span className="curve-controls">
      <span className="smooth">
        <span aria-hidden="true">{t("smooth")}</span>
        <Slider
          label={t("smooth")}
          value={view.smoothing}
          min={0}
          max={0.98}
          step={0.02}
          onChange={(smoothing) => onChange({ ...view, smoothing })}
        />
      </span>
      <Segmented
        label={t("scale")}
        small
        value={view.scale}
        options={[
          { id: "linear", label: t("linear") },
          { id: "log", label: t("log") },
        ]}
        onChange={(scale) => onChange({ ...view, scale })}
      />
      <Segmented
        label={t("axis")}
        small
        value={axes.includes(view.axis) ? view.axis : "step"}
        options={axes.map((id) => ({ id, label: t(id) }))}
        onChange={(axis) => onChange({ ...view, axis })}
      />
    </span>
  );
}

interface Props {
  series: readonly Series[];
  startedAt: number | null;
  view: CurveView;
  /** The latest progress of a live run: it tells how long the axis will be. */
  progress?: NodeProgress | null;
  /** Only the first so many curves. */
  most?: number;
  /** Whether the others can be unfolded. */
  unfolds?: boolean;
  className?: string;
}

/** One chart per metric, sharing their cursor. */
export function Curves({
  series,
  startedAt,
  view,
  progress = null,
  most,
  unfolds = false,
  className = "",
}: Props) {
  const { t } = useTranslation("charts");
  const syncKey = useId();
  const axis = axesFor(series).includes(view.axis) ? view.axis : "step";
  const [all, setAll] = useState(false);
  const every = useMemo(
    () => curvesOf(series, axis, startedAt, (part) => t(`part.${part}`)),
    [series, axis, startedAt, t],
  );
  const curves = all || most === undefined ? every : every.slice(0, most);
  const folded = unfolds && most !== undefined && every.length > most;
  if (curves.length === 0) return <p className="curves-empty">{t("none")}</p>;
  return (
    <>
      <div className={`curve-grid ${all ? "all" : ""} ${className}`}>
        <Suspense>
          {curves.map((curve) => (
            <Chart
              key={curve.name}
              title={metricLabel(t, curve.name)}
              lines={curve.lines}
              scale={view.scale}
              smoothing={view.smoothing}
              xName={t(`at.${axis}`)}
              xText={axis === "time" ? clockText : tickText}
              xEnd={endOf(axis, progress)}
              syncKey={syncKey}
            />
          ))}
        </Suspense>
      </div>
      {folded && (
        <Button
          kind="ghost"
          size="s"
          icon={all ? "up" : "down"}
          className="curves-more"
          onPress={() => setAll(!all)}
        >
          {all
            ? t("fewer")
            : t("more", {
                count: every.length - curves.length,
                names: every
                  .slice(most)
                  .map((curve) => metricLabel(t, curve.name))
                  .join(t("comma")),
              })}
        </Button>
      )}
    </>
  );
}

const PLAN_FROM = 0.25;

/** Where the axis will end, as far as the node that trains says so. */
export function endOf(axis: XAxis, progress: NodeProgress | null): number | undefined {
  // Early in a long run the planned range would press what is there into the left edge.
  if (progress === null || progress.fraction >= 1 || progress.fraction < PLAN_FROM) return undefined;
  if (axis === "epoch") return progress.epochs ?? undefined;
  return axis === "step" && progress.unit === "steps" ? (progress.total ?? undefined) : undefined;
}

function metricLabel(t: TFunction<"charts">, name: string): string {
  return t(`metric.${name}`, { defaultValue: name.replaceAll("_", " ") });
}
