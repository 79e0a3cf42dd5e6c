// Numbers as charts and tables write them: three significant digits, no more than needed.

/** `0.0413` → `0.041`, `12345` → `12,345`, `1.2e-7` → `1.2e-7`; NaN and the infinities by their names. */
export function metricText(value: number, digits = 3): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return trimExponent(value.toExponential(Math.max(0, digits - 2)));
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  const text = value.toPrecision(digits);
  return minus(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

/** As on an axis: round numbers, so nothing has to be cut. */
export function tickText(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return trimExponent(value.toExponential(1));
  if (size >= 1000) return minus(value.toLocaleString("en-US", { maximumFractionDigits: 0 }));
  return minus(String(Number(value.toPrecision(6))));
}

function trimExponent(text: string): string {
  return minus(text.replace(/\.0+e/, "e").replace("e+", "e"));
}

function minus(text: string): string {
  return text.replace(/^-/, "−");
}

/** Seconds on an axis: `0:30`, `12:00`, `1:05:00`. */
export function clockText(seconds: number): string {
  const total = Math.round(seconds);
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = String(total % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
