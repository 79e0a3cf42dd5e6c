// A plain layered layout: each node one column to the right of what it depends on, columns packed from the top.
import { inOrder } from "./connect";
import type { Level, Point } from "./document";

const COLUMN_GAP = 64;
const ROW_GAP = 40;

export interface Size {
  width: number;
  height: number;
}

const UNMEASURED: Size = { width: 200, height: 100 };

/** A position for every node of the level. */
export function tidy(level: Level, sizes: ReadonlyMap<string, Size>): Record<string, Point> {
  const column = new Map<string, number>();
  for (const id of inOrder(level)) {
    const before = level.edges
      .filter((edge) => edge.target === id)
      .map((edge) => column.get(edge.source) ?? -1);
    column.set(id, Math.max(-1, ...before) + 1);
  }
  // Sources with nothing before them stand right in front of what needs them first.
  for (const node of level.nodes) {
    if (level.edges.some((edge) => edge.target === node.id)) continue;
    const after = level.edges
      .filter((edge) => edge.source === node.id)
      .map((edge) => column.get(edge.target) ?? 0);
    if (after.length > 0) column.set(node.id, Math.max(0, Math.min(...after) - 1));
  }
  const columns: string[][] = [];
  for (const node of [...level.nodes].sort((a, b) => a.position.y - b.position.y)) {
    const at = column.get(node.id) ?? 0;
    while (columns.length <= at) columns.push([]);
    columns[at]?.push(node.id);
  }
  const positions: Record<string, Point> = {};
  let x = 0;
  for (const ids of columns) {
    let y = 0;
    let widest = 0;
    for (const id of ids) {
      const size = sizes.get(id) ?? UNMEASURED;
      positions[id] = { x, y };
      y += size.height + ROW_GAP;
      widest = Math.max(widest, size.width);
    }
    if (ids.length > 0) x += widest + COLUMN_GAP;
  }
  return positions;
}
