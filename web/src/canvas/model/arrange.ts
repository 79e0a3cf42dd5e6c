// Places of several nodes at once: in a line, evenly spread, on the grid.
import type { Note, Point } from "./document";
import type { Size } from "./tidy";

export interface Box extends Point, Size {
  id: string;
}

export type Alignment = "left" | "center" | "right" | "top" | "middle" | "bottom";
export type Positions = Record<string, Point>;

/** Dots of the canvas are this far apart. */
export const GRID = 20;

/** Positions with all boxes on one line: that of the outermost, or the middle of all. */
export function align(boxes: readonly Box[], how: Alignment): Positions {
  const least = (key: "x" | "y") => Math.min(...boxes.map((box) => box[key]));
  const most = (key: "x" | "y", size: "width" | "height") =>
    Math.max(...boxes.map((box) => box[key] + box[size]));
  const positions: Positions = {};
  for (const box of boxes) {
    let { x, y } = box;
    if (how === "left") x = least("x");
    else if (how === "right") x = most("x", "width") - box.width;
    else if (how === "center") x = (least("x") + most("x", "width") - box.width) / 2;
    else if (how === "top") y = least("y");
    else if (how === "bottom") y = most("y", "height") - box.height;
    else y = (least("y") + most("y", "height") - box.height) / 2;
    positions[box.id] = { x: Math.round(x), y: Math.round(y) };
  }
  return positions;
}

/** Positions with equal gaps; the first and the last stay where they are. */
export function spread(boxes: readonly Box[], along: "x" | "y"): Positions {
  const size = along === "x" ? "width" : "height";
  const order = [...boxes].sort((a, b) => a[along] - b[along]);
  const first = order[0];
  const last = order.at(-1);
  if (first === undefined || last === undefined || order.length < 3) return {};
  const taken = order.reduce((sum, box) => sum + box[size], 0);
  const gap = (last[along] + last[size] - first[along] - taken) / (order.length - 1);
  const positions: Positions = {};
  let at = first[along];
  for (const box of order) {
    const place = box === last ? last[along] : Math.round(at);
    positions[box.id] = along === "x" ? { x: place, y: box.y } : { x: box.x, y: place };
    at += box[size] + gap;
  }
  return positions;
}

/** The rectangle around some boxes, with room on each side; more above, for a title. */
export function around(boxes: readonly Box[], room: number, above: number): Point & Size {
  const left = Math.min(...boxes.map((box) => box.x)) - room;
  const top = Math.min(...boxes.map((box) => box.y)) - above;
  return {
    x: Math.round(left),
    y: Math.round(top),
    width: Math.round(Math.max(...boxes.map((box) => box.x + box.width)) + room - left),
    height: Math.round(Math.max(...boxes.map((box) => box.y + box.height)) + room - top),
  };
}

/** Which boxes have their middle inside a frame: they move with it. */
export function inside(boxes: readonly Box[], frame: Point & Size): string[] {
  return boxes
    .filter((box) => {
      const x = box.x + box.width / 2;
      const y = box.y + box.height / 2;
      return x > frame.x && x < frame.x + frame.width && y > frame.y && y < frame.y + frame.height;
    })
    .map((box) => box.id);
}

/** Room of a frame around what it holds: at its sides, and above for its title. */
export const FRAME_ROOM = { sides: 24, above: 52 } as const;

/**
 * What becomes of notes when nodes get other places: a frame goes around what it held, a note stays by the node that was
 * nearest to it.
 */
export function followed(
  notes: readonly Note[],
  nodes: readonly Box[],
  positions: Readonly<Positions>,
): { id: string; change: Partial<Pick<Note, "position" | "size">> }[] {
  const placed = nodes
    .filter((box) => positions[box.id] !== undefined)
    .map((box) => ({ box, now: { ...box, ...positions[box.id] } }));
  return notes.flatMap((note) => {
    if (note.kind === "frame") {
      const held = new Set(
        inside(
          placed.map(({ box }) => box),
          { ...note.position, ...note.size },
        ),
      );
      const now = placed.filter(({ box }) => held.has(box.id)).map((item) => item.now);
      if (now.length === 0) return [];
      const { x, y, width, height } = around(now, FRAME_ROOM.sides, FRAME_ROOM.above);
      return [{ id: note.id, change: { position: { x, y }, size: { width, height } } }];
    }
    const { x, y } = note.position;
    const far = ({ box }: (typeof placed)[number]) => Math.hypot(box.x - x, box.y - y);
    const nearest = placed.reduce<(typeof placed)[number] | null>(
      (best, item) => (best === null || far(item) < far(best) ? item : best),
      null,
    );
    if (nearest === null) return [];
    const { box, now } = nearest;
    return [{ id: note.id, change: { position: { x: x + now.x - box.x, y: y + now.y - box.y } } }];
  });
}
