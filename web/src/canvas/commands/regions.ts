// F6 goes from one part of the page to the next.

const REGIONS = [".rail", ".topbar", ".library", ".stage", ".panel", ".dock", ".strip"] as const;
const FOCUSABLE =
  "a[href], button:not([disabled]), input:not([disabled]), select, textarea, [tabindex]:not([tabindex='-1'])";

/** The node that had the focus last: going back to the canvas goes back to it. */
let lastNode: string | null = null;

export function focusRegion(step: 1 | -1): void {
  const here = REGIONS.findIndex((selector) => document.activeElement?.closest(selector));
  const node = document.activeElement?.closest<HTMLElement>("[data-node]")?.dataset.node;
  if (node !== undefined) lastNode = node;
  for (let count = 1; count <= REGIONS.length; count += 1) {
    const from = here < 0 ? (step > 0 ? -1 : 0) : here;
    const at = (((from + step * count) % REGIONS.length) + REGIONS.length) % REGIONS.length;
    const region = document.querySelector<HTMLElement>(REGIONS[at] as string);
    const target = region && entrance(region);
    if (target) {
      target.focus();
      return;
    }
  }
}

function entrance(region: HTMLElement): HTMLElement | undefined {
  const all = [...region.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
    (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden",
  );
  if (!region.matches(".stage")) return all[0];
  const nodes = all.filter((element) => element.dataset.node !== undefined);
  return nodes.find((element) => element.dataset.node === lastNode) ?? nodes[0] ?? all[0];
}
