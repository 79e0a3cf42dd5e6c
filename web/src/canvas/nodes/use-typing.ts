import { type RefObject, useEffect } from "react";

/** Frames to wait for a node that was just added: it cannot take the focus until it is measured and drawn. */
const MOST_FRAMES = 60;

/** Give a field on the canvas the focus, with all of its text selected, as soon as it can take it. */
export function useTyping(field: RefObject<HTMLInputElement | HTMLTextAreaElement | null>): void {
  useEffect(() => {
    let frame = 0;
    const take = (left: number) => {
      const element = field.current;
      element?.focus({ preventScroll: true });
      if (element !== null && document.activeElement === element) element.select();
      else if (left > 0) frame = requestAnimationFrame(() => take(left - 1));
    };
    take(MOST_FRAMES);
    return () => cancelAnimationFrame(frame);
  }, [field]);
}
