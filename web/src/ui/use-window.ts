import { type RefObject, useCallback, useLayoutEffect, useState } from "react";

export interface Window {
  /** First index to draw, and the one after the last. */
  first: number;
  end: number;
  /** Heights of what is not drawn, in px. */
  before: number;
  after: number;
}

/** Which rows of equal height are in view, with some on either side. Pure. */
export function windowOf(
  scrollTop: number,
  height: number,
  rowHeight: number,
  count: number,
  extra = 8,
): Window {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight) - extra));
  const end = Math.max(first, Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + extra));
  return { first, end, before: first * rowHeight, after: (count - end) * rowHeight };
}

/** The window of a scrolled box: long lists draw only what can be seen. `offset` is what stands above the rows in the box. */
export function useWindow(
  box: RefObject<HTMLElement | null>,
  rowHeight: number,
  count: number,
  offset = 0,
): Window {
  const [view, setView] = useState({ top: 0, height: 900 });
  const measure = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const top = Math.max(0, element.scrollTop - offset);
    const height = element.clientHeight;
    setView((old) => {
      // Small movements stay inside the rows drawn beyond the edges.
      const moved = Math.abs(old.top - top) >= rowHeight * 4 || old.height !== height;
      return moved || top === 0 ? (old.top === top && old.height === height ? old : { top, height }) : old;
    });
  }, [box, rowHeight, offset]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [box, measure]);
  return windowOf(view.top, view.height, rowHeight, count);
}
