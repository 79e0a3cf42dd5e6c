import { useState } from "react";
import { useTranslation } from "react-i18next";
import { NumberField } from "../ui/NumberField";
import { Segmented } from "../ui/Segmented";
import { pictureUrl } from "./api";
import { HeatMap, LineOf, ScatterOf } from "./drawings";
import { useValues } from "./hooks";
import { type Drawing, drawingsFor, rowsOf } from "./numbers";
import type { OutputSlice, Picture, Source, Window } from "./types";
import { ValueTable } from "./ValueTable";

/** How much is read at once for each way to look. A table shows as much as can be read, a drawing as much as is sent. */
const SIZE: Record<Drawing, [number, number]> = {
  values: [12, 12],
  heat: [64, 64],
  line: [1, 4096],
  scatter: [2048, 2],
  picture: [1, 1],
};

interface TensorProps {
  runId: string;
  source: Source;
  shape: readonly number[];
  picture: Picture | null;
  name: string;
}

/** Values of a captured tensor: as a table, shaded, as a line, as points or as a picture, at any index. */
export function Tensor({ runId, source, shape, picture, name }: TensorProps) {
  const drawings = drawingsFor(shape, picture !== null);
  const [drawing, setDrawing] = useState<Drawing>(drawings[0] ?? "values");
  const [index, setIndex] = useState<readonly number[]>(() => shape.slice(0, -2).map(() => 0));
  const [start, setStart] = useState<readonly [number, number]>([0, 0]);
  const { t } = useTranslation("inspector");
  const window = windowOf(shape, index, start, drawing);
  const { data, error } = useValues(runId, source, window);
  const leading = drawing === "picture" && picture !== null ? picture.leading : shape.slice(0, -2);
  return (
    <div className="tensor">
      {drawings.length > 1 && (
        <Segmented
          label={t("lookAs")}
          small
          value={drawing}
          options={drawings.map((id) => ({ id, label: t(`as.${id}`) }))}
          onChange={setDrawing}
        />
      )}
      <IndexFields sizes={leading} index={index} onChange={setIndex} />
      {drawing === "picture" ? (
        <PictureOf runId={runId} source={source} index={index.slice(0, leading.length)} name={name} />
      ) : error !== null ? (
        <p className="text-12 ink-3">{t("gone")}</p>
      ) : (
        data !== undefined && <Drawn slice={data} drawing={drawing} name={name} onMove={setStart} />
      )}
    </div>
  );
}

/** The window to read: a one-dimensional tensor has columns only. */
export function windowOf(
  shape: readonly number[],
  index: readonly number[],
  start: readonly [number, number],
  drawing: Drawing,
): Window {
  const [rows, columns] = SIZE[drawing];
  if (shape.length === 0) return { index: [], start: [], size: [] };
  if (shape.length === 1)
    return { index: [], start: [start[1]], size: [drawing === "values" ? columns : 4096] };
  return { index, start, size: [rows, columns] };
}

interface DrawnProps {
  slice: OutputSlice;
  drawing: Drawing;
  name: string;
  onMove: (start: readonly [number, number]) => void;
}

/** A part of a tensor in one way to look at it. */
export function Drawn({ slice, drawing, name, onMove }: DrawnProps) {
  const rows = rowsOf(slice.values);
  const flat = slice.shape.length < 2;
  const start: [number, number] = flat
    ? [0, slice.start[0] ?? 0]
    : [slice.start[0] ?? 0, slice.start[1] ?? 0];
  const size: [number, number] = flat
    ? [1, slice.shape[0] ?? 1]
    : [slice.shape.at(-2) ?? 1, slice.shape.at(-1) ?? 1];
  switch (drawing) {
    case "heat":
      return <HeatMap rows={rows} name={name} />;
    case "line":
      return <LineOf values={rows[0] ?? []} first={start[1]} name={name} />;
    case "scatter":
      return <ScatterOf rows={rows} name={name} />;
    default:
      return <ValueTable rows={rows} start={start} size={size} name={name} onMove={onMove} />;
  }
}

interface IndexProps {
  sizes: readonly number[];
  index: readonly number[];
  onChange: (index: readonly number[]) => void;
}

/** One number for each dimension before the last two. */
export function IndexFields({ sizes, index, onChange }: IndexProps) {
  const { t } = useTranslation("inspector");
  const open = sizes.map((size, depth) => ({ size, depth })).filter(({ size }) => size > 1);
  if (open.length === 0) return null;
  return (
    <div className="index-fields">
      {open.map(({ size, depth }) => (
        <div key={depth} className="row text-12 ink-3">
          <span className="grow">{t("dimension", { number: depth, size })}</span>
          <NumberField
            label={t("dimension", { number: depth, size })}
            value={index[depth] ?? 0}
            onChange={(next) => {
              if (next !== null) onChange(index.map((old, at) => (at === depth ? next : old)));
            }}
            min={0}
            max={size - 1}
            integer
            up={t("common:increase")}
            down={t("common:decrease")}
          />
        </div>
      ))}
    </div>
  );
}

function PictureOf({
  runId,
  source,
  index,
  name,
}: {
  runId: string;
  source: Source;
  index: readonly number[];
  name: string;
}) {
  const { t } = useTranslation("inspector");
  const [failed, setFailed] = useState("");
  const url = pictureUrl(runId, source, index);
  if (failed === url) return <p className="text-12 ink-3">{t("gone")}</p>;
  return (
    <img
      className="output-picture"
      src={url}
      alt={t("pictureOf", { name, index: index.length === 0 ? "0" : index.join(", ") })}
      onError={() => setFailed(url)}
    />
  );
}
