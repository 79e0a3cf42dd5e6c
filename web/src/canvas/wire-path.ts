import { getBezierPath, getSmoothStepPath, Position } from "@xyflow/react";

/** A wire from an output to an input and the middle of it. One that leads back goes around instead of through its nodes. */
export function wirePath(
  sourceX: number,
  sourceY: number,
  targetX: number,
  targetY: number,
): [path: string, labelX: number, labelY: number] {
  const ends = {
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition: Position.Right,
    targetPosition: Position.Left,
  };
  const [path, labelX, labelY] =
    targetX >= sourceX - 8
      ? getBezierPath(ends)
      : getSmoothStepPath({ ...ends, borderRadius: 14, offset: 22 });
  return [path, labelX, labelY];
}
