import { type ClipboardEvent, type KeyboardEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import {
  fromRows,
  type Grid,
  gridShape,
  partAt,
  pasted,
  readCells,
  readShape,
  resized,
  rowsOf,
  withPart,
} from "../../model/grid";
import type { FieldProps } from "./field";

/** Beyond this a file is the better place. */
const MOST_NUMBERS = 4096;
const MOST_CELLS = 1024;

/** Numbers in a grid: the last two dimensions as rows and columns, the others by their index. */
export function TensorParam(props: FieldProps) {
  const { t } = useTranslation("panel");
  const { value, mixed, label, change } = props;
  const [at, setAt] = useState<readonly number[]>([]);
  const shape = gridShape(value);
  if (mixed) return <span className="field field-fixed ink-3">{t("mixed")}</span>;
  if (shape === null) return <RawGrid {...props} />;
  const grid = value as Grid;
  const leading = shape.slice(0, -2);
  const path = leading.map((size, depth) => Math.min(at[depth] ?? 0, size - 1));
  const rows = rowsOf(partAt(grid, path));
  const cells = (rows[0]?.length ?? 0) * rows.length;
  const put = (next: number[][]) => change(withPart(grid, path, fromRows(next, Math.min(2, shape.length))));
  return (
    <div className="tensor-param">
      <span className="row">
        <ShapeField
          shape={shape}
          label={t("shapeOf", { name: label })}
          onChange={(next) => change(resized(grid, next))}
          onRefused={props.onRefused}
        />
        {path.map((index, depth) => (
          <label key={leading.slice(0, depth + 1).join("-")} className="row text-12 ink-3">
            {t("dimension", { number: depth })}
            <select
              className="field"
              value={index}
              onChange={(event) =>
                setAt(path.map((old, d) => (d === depth ? Number(event.target.value) : old)))
              }
            >
              {Array.from({ length: leading[depth] ?? 0 }, (_, option) => String(option)).map((option) => (
                <option key={option}>{option}</option>
              ))}
            </select>
          </label>
        ))}
      </span>
      {cells > MOST_CELLS ? <RawGrid {...props} /> : <Cells rows={rows} label={label} onChange={put} />}
    </div>
  );
}

function ShapeField({
  shape,
  label,
  onChange,
  onRefused,
}: {
  shape: readonly number[];
  label: string;
  onChange: (shape: number[]) => void;
  onRefused: (refused: boolean) => void;
}) {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    if (draft === null) return;
    const read = readShape(draft, MOST_NUMBERS);
    onRefused(read === null);
    if (read === null) return;
    if (read.join() !== shape.join()) onChange(read);
    setDraft(null);
  };
  return (
    <input
      className="field mono tensor-shape"
      aria-label={label}
      title={label}
      value={draft ?? shape.join(" × ")}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
      }}
    />
  );
}

interface CellsProps {
  rows: number[][];
  label: string;
  onChange: (rows: number[][]) => void;
}

/** Arrow keys go from cell to cell; pasting fills from the cell with the focus. */
function Cells({ rows, label, onChange }: CellsProps) {
  const { t } = useTranslation("panel");
  const table = useRef<HTMLTableElement>(null);
  const focus = (row: number, column: number) => {
    const cell = table.current?.rows[row]?.cells[column]?.querySelector("input");
    cell?.focus();
    cell?.select();
    return cell !== null && cell !== undefined;
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>, row: number, column: number) => {
    const input = event.currentTarget;
    const atStart = input.selectionStart === 0;
    const atEnd = input.selectionEnd === input.value.length;
    const move = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Enter: [1, 0],
      ArrowLeft: atStart ? [0, -1] : null,
      ArrowRight: atEnd ? [0, 1] : null,
    }[event.key];
    if (move === undefined || move === null) return;
    const [down = 0, right = 0] = move;
    if (focus(row + down, column + right)) event.preventDefault();
  };
  const onPaste = (event: ClipboardEvent, row: number, column: number) => {
    const cells = readCells(event.clipboardData.getData("text/plain"));
    if (cells === null || (cells.length === 1 && cells[0]?.length === 1)) return;
    event.preventDefault();
    onChange(pasted(rows, row, column, cells));
  };
  return (
    <div className="tensor-cells">
      <table ref={table} aria-label={label}>
        <tbody>
          {rows.map((row, r) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
            <tr key={r}>
              {row.map((value, c) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                <td key={c}>
                  <Cell
                    label={t("cell", { row: r, column: c })}
                    value={value}
                    onChange={(next) => {
                      onChange(rows.map((line, y) => (y === r ? line.with(c, next) : line)));
                    }}
                    onKeyDown={(event) => onKeyDown(event, r, c)}
                    onPaste={(event) => onPaste(event, r, c)}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CellProps {
  label: string;
  value: number;
  onChange: (value: number) => void;
  onKeyDown: (event: KeyboardEvent<HTMLInputElement>) => void;
  onPaste: (event: ClipboardEvent) => void;
}

function Cell({ label, value, onChange, onKeyDown, onPaste }: CellProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const legal = draft === null || (draft.trim() !== "" && Number.isFinite(Number(draft)));
  const commit = () => {
    if (draft !== null && legal && Number(draft) !== value) onChange(Number(draft));
    setDraft(null);
  };
  return (
    <input
      className="mono"
      aria-label={label}
      aria-invalid={!legal || undefined}
      inputMode="decimal"
      value={draft ?? String(value)}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Escape") setDraft(null);
        onKeyDown(event);
      }}
      onPaste={onPaste}
    />
  );
}

/** Numbers as text, for what is no grid or too large for one. */
function RawGrid({ value, label, describedBy, change, onRefused }: FieldProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    if (draft === null) return;
    let read: unknown = null;
    try {
      read = JSON.parse(draft);
    } catch {
      // Told below: it is no list of numbers.
    }
    const legal = gridShape(read) !== null;
    onRefused(!legal);
    if (!legal) return;
    change(read);
    setDraft(null);
  };
  return (
    <textarea
      className="field mono"
      rows={4}
      aria-label={label}
      aria-describedby={describedBy}
      spellCheck={false}
      value={draft ?? JSON.stringify(value ?? [])}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={commit}
    />
  );
}
