/** Room for the floating tools, so that Fit leaves nothing under them. */
export const FIT = {
  padding: { top: "60px", bottom: "56px", left: "24px", right: "24px" },
  maxZoom: 1,
} as const;

/** The same with the line that says which module is open. */
export const FIT_BELOW_TRAIL = { ...FIT, padding: { ...FIT.padding, top: "100px" } } as const;
