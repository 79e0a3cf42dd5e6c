import type { TFunction } from "i18next";
import type { NodeProgress } from "../api";
import { countText } from "./format";

/** “Epoch 13 of 20” when the node counts epochs, else its own words, else its count. */
export function progressText(progress: NodeProgress, t: TFunction<"canvas">): string {
  const { epoch, epochs, text, current, total, unit } = progress;
  if (epoch !== null && epoch !== undefined && epochs !== null && epochs !== undefined && epochs > 0) {
    return t("epochOf", { epoch: Math.min(epochs, Math.max(1, Math.ceil(epoch))), epochs });
  }
  if (text) return text;
  if (current !== null && current !== undefined && total) {
    return `${countText(current)} / ${countText(total)} ${unit ?? ""}`.trim();
  }
  return "";
}
