import {
  Background,
  BackgroundVariant,
  ReactFlow,
  SelectionMode,
  useStore as useFlow,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { lazy, type MouseEvent as ReactMouseEvent, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { EmptyStage } from "./EmptyStage";
import { GRID } from "./model/arrange";
import { portType } from "./model/catalog";
import { scopeBehind } from "./model/document";
import { entriesOf } from "./model/entries";
import { type FlowEdge, type FlowNode, isNoteNode } from "./model/flow";
import { GraphNodeView } from "./nodes/GraphNodeView";
import { NoteView } from "./nodes/NoteView";
import { NODE_DRAG, place } from "./placing";
import { QuickSearch } from "./QuickSearch";
import { RefusedCard } from "./RefusedCard";
import { SelectionTools } from "./SelectionTools";
import { StageTools } from "./StageTools";
import { useStageNodes } from "./stage-nodes";
import { useStageWires } from "./stage-wires";
import { useEditor } from "./store/editor";
import { documentOf, scopeOf } from "./store/graph-store";
import { useKeptPresets } from "./store/kept-presets";
import { pointer } from "./store/pointer";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { useKeepFitted, useKeepInSight } from "./use-keep-in-sight";
import { Wire } from "./Wire";
import { RefusalTip, WireInHand } from "./WireInHand";

const GraphMap = lazy(() => import("./GraphMap"));
const StageMenu = lazy(() => import("./StageMenu"));

const nodeTypes = { graph: GraphNodeView, note: NoteView, frame: NoteView };
const edgeTypes = { wire: Wire };
const MORE_KEYS = ["Shift", "Control", "Meta"];
const SNAP: [number, number] = [GRID, GRID];
const HIDE_ATTRIBUTION = { hideAttribution: true };
/** Below this a node is its title and its state. */
const FAR = 0.45;

export function Stage({ name }: { name: string }) {
  const { t } = useTranslation("canvas");
  const { store, catalog } = useEditor();
  const kept = useKeptPresets();
  const search = useStageUi((state) => state.search);
  const menu = useStageUi((state) => state.menu);
  const snap = useView((state) => state.snap);
  const mapOpen = useView((state) => state.mapOpen);
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const far = useFlow((state) => state.transform[2] < FAR);
  const { level, depth, handlers } = useStageNodes();
  const { hand, ...wireHandlers } = useStageWires();
  useKeepFitted(depth);
  useKeepInSight();

  const openMenu = (event: ReactMouseEvent | MouseEvent, id: string | null) => {
    event.preventDefault();
    const state = store.getState();
    if (id !== null && !state.selection.includes(id)) state.select([id]);
    useStageUi.setState({ menu: { x: event.clientX, y: event.clientY } });
  };

  return (
    <main
      className="stage"
      aria-label={t("graphNamed", { name })}
      data-far={far || undefined}
      data-hand={hand?.end}
      data-hand-type={hand === null ? undefined : portType(hand.type)}
      onPointerMove={(event) => {
        pointer.at = { x: event.clientX, y: event.clientY };
      }}
      onPointerLeave={() => {
        pointer.at = null;
      }}
    >
      <ReactFlow<FlowNode, FlowEdge>
        className="graph"
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        {...handlers}
        {...wireHandlers}
        connectionLineComponent={WireInHand}
        connectionRadius={24}
        onNodeDoubleClick={(_, node) => {
          if (isNoteNode(node)) return;
          const scope = scopeBehind(node.data.node);
          if (scope !== null) store.getState().open({ node: node.id, subgraph: scope });
        }}
        onNodeClick={(_, node) => {
          if (!isNoteNode(node)) useView.getState().set({ panelOpen: true });
        }}
        onNodeContextMenu={(event, node) => openMenu(event, node.id)}
        onSelectionContextMenu={(event) => openMenu(event, null)}
        onPaneContextMenu={(event) => {
          store.getState().select([]);
          openMenu(event, null);
        }}
        onDoubleClick={(event) => {
          if (event.target instanceof Element && event.target.closest(".react-flow__pane") !== null) {
            useStageUi.getState().openSearch({ at: { x: event.clientX, y: event.clientY }, wire: null });
          }
        }}
        onMoveStart={(event) => {
          // Only a person's own movement: fitting moves the canvas too, without an event.
          if (event !== null) useStageUi.setState({ fitted: false });
        }}
        onDragOver={(event) => {
          if (event.dataTransfer.types.includes(NODE_DRAG)) {
            event.preventDefault();
            event.dataTransfer.dropEffect = "copy";
          }
        }}
        onDrop={(event) => {
          const id = event.dataTransfer.getData(NODE_DRAG);
          if (id === "") return;
          const state = store.getState();
          const entry = entriesOf(documentOf(state), scopeOf(state), catalog, kept).find(
            (one) => one.id === id,
          );
          if (entry === undefined) return;
          event.preventDefault();
          const at = flow.screenToFlowPosition({ x: event.clientX - 60, y: event.clientY - 16 });
          place(store, entry, at, null, null);
        }}
        snapToGrid={snap}
        snapGrid={SNAP}
        zoomOnDoubleClick={false}
        deleteKeyCode={null}
        selectionMode={SelectionMode.Partial}
        multiSelectionKeyCode={MORE_KEYS}
        disableKeyboardA11y
        nodesFocusable={false}
        edgesFocusable={false}
        minZoom={0.1}
        maxZoom={2}
        elevateNodesOnSelect
        proOptions={HIDE_ATTRIBUTION}
      >
        <Background
          variant={BackgroundVariant.Dots}
          gap={GRID}
          size={1.4}
          color="var(--grid)"
          bgColor="var(--canvas)"
        />
        <RefusalTip />
        {mapOpen && (
          <Suspense>
            <GraphMap />
          </Suspense>
        )}
      </ReactFlow>
      {level.nodes.length === 0 && depth === 0 && search === null && <EmptyStage />}
      <StageTools />
      <SelectionTools />
      <RefusedCard />
      {search !== null && <QuickSearch request={search} />}
      {menu !== null && (
        <Suspense>
          <StageMenu at={menu} />
        </Suspense>
      )}
    </main>
  );
}
