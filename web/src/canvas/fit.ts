/** Room for the floating tools, so that Fit leaves nothing under them. */
export const FIT = {
  padding: { top: "60px", bottom: "56px", left: "24px", right: "24px" },
  maxZoom: 1,
} as const;
