// Numbers and shapes as the canvas writes them.

/** `6090` → `6,090`. */
export function countText(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : String(value);
}

/** How long something took: `4 ms`, `1.2 s`, `1:12`. */
export function durationText(seconds: number): string {
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const total = Math.round(seconds);
  const minutes = Math.floor(total / 60);
  return minutes < 60
    ? `${minutes}:${String(total % 60).padStart(2, "0")}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${String(total % 60).padStart(2, "0")}`;
}

/** `[16, 8, 8]` → `16×8×8`; an empty shape is one number. */
export function shapeText(shape: unknown): string {
  if (Array.isArray(shape)) return shape.length === 0 ? "1" : shape.map((size) => String(size)).join("×");
  return typeof shape === "string" ? shape : "";
}
