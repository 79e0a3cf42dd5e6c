// Whether two documents are one and the same to a person: the server writes keys in another order and rounds places.

export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => sameField(key, a[key], b[key]));
}

/** View state of a canvas, which the server does not keep. */
const VIEW_STATE = new Set(["selected", "dragging", "resizing", "measured", "positionAbsolute", "viewport"]);
/** Left out of a file when they hold nothing. */
const MAY_BE_EMPTY = new Set(["description", "presets", "subgraphs", "settings", "label"]);

function sameField(key: string, a: unknown, b: unknown): boolean {
  if (VIEW_STATE.has(key)) return true;
  if (MAY_BE_EMPTY.has(key) && holdsNothing(a) && holdsNothing(b)) return true;
  if (key === "position" && isRecord(a) && isRecord(b)) {
    return samePlace(a.x, b.x) && samePlace(a.y, b.y);
  }
  return same(a, b);
}

function samePlace(a: unknown, b: unknown): boolean {
  return typeof a === "number" && typeof b === "number" ? Math.abs(a - b) <= 1 : same(a, b);
}

function holdsNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return isRecord(value) && Object.values(value).every(holdsNothing);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
