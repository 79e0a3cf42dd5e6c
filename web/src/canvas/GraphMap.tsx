import { MiniMap, useOnViewportChange, useReactFlow, useStoreApi } from "@xyflow/react";
import { useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { type FlowEdge, type FlowNode, isNoteNode } from "./model/flow";
import { useEditor } from "./store/editor";
import { useStageUi } from "./store/stage-ui";

const WIDTH = 168;
const HEIGHT = 112;
const CORNERS = ["bottom-left", "top-right"] as const;

/** The whole graph in small, in the corner that covers the fewest nodes. */
export default function GraphMap() {
  const { t } = useTranslation("editor");
  const { store } = useEditor();
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const api = useStoreApi();
  const [corner, setCorner] = useState<(typeof CORNERS)[number]>("bottom-left");
  const choose = useCallback(() => {
    const { width, height } = api.getState();
    const { x, y, zoom } = flow.getViewport();
    const covered = (at: (typeof CORNERS)[number]) => {
      const left = at === "bottom-left" ? 0 : width - WIDTH - 24;
      const top = at === "bottom-left" ? height - HEIGHT - 24 : 0;
      return flow.getNodes().filter((node) => {
        const l = node.position.x * zoom + x;
        const u = node.position.y * zoom + y;
        const r = l + (node.measured?.width ?? 0) * zoom;
        const d = u + (node.measured?.height ?? 0) * zoom;
        return r > left && l < left + WIDTH + 24 && d > top && u < top + HEIGHT + 24;
      }).length;
    };
    setCorner((before) => {
      const best = CORNERS.find((one) => covered(one) < covered(before));
      return best ?? before;
    });
  }, [flow, api]);
  useEffect(choose, [choose]);
  useEffect(
    () => store.subscribe((state, before) => state.history !== before.history && choose()),
    [store, choose],
  );
  useOnViewportChange({ onEnd: choose });
  return (
    <MiniMap<FlowNode>
      className="stage-map"
      position={corner}
      style={{ width: WIDTH, height: HEIGHT }}
      ariaLabel={t("mapLabel")}
      pannable
      zoomable
      bgColor="var(--surface)"
      maskColor="var(--map-mask)"
      maskStrokeColor="var(--edge)"
      maskStrokeWidth={1}
      nodeBorderRadius={8}
      nodeColor={(node) =>
        isNoteNode(node) ? "var(--sunken)" : node.selected === true ? "var(--ink)" : "var(--edge)"
      }
      onClick={() => useStageUi.setState({ fitted: false })}
    />
  );
}
