// What the rest of the page uses of the API.
export { type BestEpoch, bestEpoch } from "./best";
export * from "./client";
export { connection } from "./connection";
export * from "./events";
export * from "./hooks";
export { type LiveRuns, liveRuns, useLive } from "./live";
export type { InnerNode, LiveRun, LiveStatus, NodeLive } from "./live-run";
export type { LogView } from "./log";
export { fromJsonNumber } from "./numbers";
export { presence, useAwaySince, usePresence } from "./presence";
export type { Series } from "./series";
export { type Accepted, type ConnectionState, SocketRefusal } from "./socket";
export * from "./types";
