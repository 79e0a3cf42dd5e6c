import type { Point } from "../model/document";

/** Where the pointer was last seen over the canvas, in window pixels; `null` when it left. No render waits for it. */
export const pointer: { at: Point | null } = { at: null };
