export { Chart, LineSample } from "./Chart";
export { CurveControls, Curves, type CurveView, DEFAULT_VIEW } from "./Curves";
export { metricText } from "./format";
export { Sparkline } from "./Sparkline";
