import { useTranslation } from "react-i18next";
import { IconButton } from "../ui/Button";
import { cellText, rangeOf, shade } from "./numbers";

interface Props {
  rows: readonly (readonly number[])[];
  /** Where in the tensor the rows and columns begin. */
  start: readonly [number, number];
  /** Sizes of the tensor's last two dimensions. */
  size: readonly [number, number];
  name: string;
  onMove: (start: [number, number]) => void;
}

/** Text on the strongest shade still has the contrast of AA. */
const STRONGEST = 0.45;

/** A window into a tensor, shaded by value; the arrows move it. */
export function ValueTable({ rows, start, size, name, onMove }: Props) {
  const { t } = useTranslation("inspector");
  const range = rangeOf(rows);
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const [top, left] = start;
  return (
    <div className="values">
      <div className="values-scroll">
        <table aria-label={t("valuesOf", { name })}>
          <thead>
            <tr>
              <td />
              {Array.from({ length: columns }, (_, column) => left + column).map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <tr key={at}>
                <th scope="row">{top + at}</th>
                {row.map((value, column) => (
                  <td
                    // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                    key={column}
                    className={Number.isFinite(value) ? undefined : "values-none"}
                    style={{
                      background: Number.isFinite(value)
                        ? `rgb(var(--heat) / ${(shade(value, range) * STRONGEST).toFixed(3)})`
                        : undefined,
                    }}
                  >
                    {cellText(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Steps
        label={t("rows")}
        from={top}
        count={rows.length}
        total={size[0]}
        onMove={(next) => onMove([next, left])}
      />
      <Steps
        label={t("columns")}
        from={left}
        count={columns}
        total={size[1]}
        onMove={(next) => onMove([top, next])}
      />
    </div>
  );
}

interface StepsProps {
  label: string;
  from: number;
  count: number;
  total: number;
  onMove: (from: number) => void;
}

function Steps({ label, from, count, total, onMove }: StepsProps) {
  const { t } = useTranslation("inspector");
  if (count >= total) return null;
  return (
    <span className="row text-12 ink-3">
      <span className="grow">{t("window", { label, from, to: from + count - 1, total })}</span>
      <IconButton
        icon="left"
        size="s"
        label={t("before", { label })}
        isDisabled={from === 0}
        onPress={() => onMove(Math.max(0, from - count))}
      />
      <IconButton
        icon="right"
        size="s"
        label={t("after", { label })}
        isDisabled={from + count >= total}
        onPress={() => onMove(Math.min(Math.max(0, total - count), from + count))}
      />
    </span>
  );
}
