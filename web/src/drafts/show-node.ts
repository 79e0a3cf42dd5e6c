// Leads to a node of the open graph, whichever group it stands in.
import type { ReactFlowInstance } from "@xyflow/react";
import { findNode, type GraphDocument, levelOf, type Scope, scopeBehind } from "../canvas/model/document";
import { documentOf, type GraphStore, type OpenModule } from "../canvas/store/graph-store";
import { useStageUi } from "../canvas/store/stage-ui";
import { reducedMotion } from "../canvas/use-keep-in-sight";

/** Which nodes to open, one inside the other, to come to `scope`; `null` when none leads there. */
export function wayTo(doc: GraphDocument, scope: Scope): readonly OpenModule[] | null {
  if (scope === null) return [];
  const seen = new Set<Scope>([null]);
  let level: { at: Scope; way: OpenModule[] }[] = [{ at: null, way: [] }];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { at, way } of level) {
      for (const node of levelOf(doc, at).nodes) {
        const behind = scopeBehind(node);
        if (behind === null || seen.has(behind)) continue;
        seen.add(behind);
        const further = [...way, { node: node.id, subgraph: behind }];
        if (behind === scope) return further;
        next.push({ at: behind, way: further });
      }
    }
    level = next;
  }
  return null;
}

/** Whether there is something to be led to. */
export function canShow(doc: GraphDocument, scope: Scope, node: string | null): boolean {
  return node !== null && findNode(levelOf(doc, scope), node) !== undefined && wayTo(doc, scope) !== null;
}

export function showNode(store: GraphStore, flow: ReactFlowInstance, scope: Scope, node: string): void {
  const way = wayTo(documentOf(store.getState()), scope);
  if (way === null) return;
  store.getState().leave(0);
  for (const module of way) store.getState().open(module);
  store.getState().select([node]);
  useStageUi.setState({ fitted: false });
  // The level is drawn first.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const duration = reducedMotion() ? 0 : 160;
      void flow.fitView({ nodes: [{ id: node }], maxZoom: 1, padding: 0.6, duration });
    }),
  );
}
