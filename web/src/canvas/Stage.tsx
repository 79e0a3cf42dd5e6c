import {
  Background,
  BackgroundVariant,
  ReactFlow,
  SelectionMode,
  useStore as useFlow,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import {
  type DragEvent,
  lazy,
  type MouseEvent as ReactMouseEvent,
  type PointerEvent as ReactPointerEvent,
  Suspense,
  useMemo,
} from "react";
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
import { useEditor, useGraph } from "./store/editor";
import { currentLevel, documentOf, scopeOf } from "./store/graph-store";
import { useKeptPresets } from "./store/kept-presets";
import { pointer } from "./store/pointer";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { useKeepFitted, useKeepInSight } from "./use-keep-in-sight";
import { Wire } from "./Wire";
import { RefusalTip, WireInHand } from "./WireInHand";
import { NodeWordsProvider, remembering, useWords } from "./words";

const GraphMap = lazy(() => import("./GraphMap"));
const StageMenu = lazy(() => import("./StageMenu"));

const nodeTypes = { graph: GraphNodeView, note: NoteView, frame: NoteView };
const edgeTypes = { wire: Wire };
const MORE_KEYS = ["Shift", "Control", "Meta"];
const SNAP: [number, number] = [GRID, GRID];
const HIDE_ATTRIBUTION = { hideAttribution: true };
/** Below this a node is its title and its state. */
const FAR = 0.45;

/** The canvas with everything that floats over it. */
export function Stage({ name }: { name: string }) {
  const { t } = useTranslation("canvas");
  const depth = useGraph((state) => state.trail.length);
  const empty = useGraph((state) => state.trail.length === 0 && currentLevel(state).nodes.length === 0);
  const search = useStageUi((state) => state.search);
  const menu = useStageUi((state) => state.menu);
  const hand = useStageUi((state) => state.hand);
  const far = useFlow((state) => state.transform[2] < FAR);
  useKeepFitted(depth);
  useKeepInSight();
  return (
    <main
      className="stage"
      aria-label={t("graphNamed", { name })}
      data-far={far || undefined}
      data-hand={hand?.end}
      data-hand-type={hand === null ? undefined : portType(hand.type)}
      onPointerMove={trackPointer}
      onPointerLeave={forgetPointer}
    >
      <Graph />
      {empty && search === null && <EmptyStage />}
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

function trackPointer(event: ReactPointerEvent) {
  pointer.at = { x: event.clientX, y: event.clientY };
}

function forgetPointer() {
  pointer.at = null;
}

/** Nodes and wires. It renders with each step of a drag, so nothing else is in it, and what it is given stays the same. */
function Graph() {
  const snap = useView((state) => state.snap);
  const mapOpen = useView((state) => state.mapOpen);
  const nodes = useStageNodes();
  const wires = useStageWires();
  const gestures = useGestures();
  const words = useWords();
  const shared = useMemo(() => remembering(words), [words]);
  return (
    <NodeWordsProvider value={shared}>
      <ReactFlow<FlowNode, FlowEdge>
        className="graph"
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        {...nodes}
        {...wires}
        {...gestures}
        connectionLineComponent={WireInHand}
        connectionRadius={24}
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
    </NodeWordsProvider>
  );
}

/** What clicks, menus and drops on the canvas do. */
function useGestures() {
  const { store, catalog } = useEditor();
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const kept = useKeptPresets();
  return useMemo(() => {
    const openMenu = (event: ReactMouseEvent | MouseEvent, id: string | null) => {
      event.preventDefault();
      const state = store.getState();
      if (id !== null && !state.selection.includes(id)) state.select([id]);
      useStageUi.setState({ menu: { x: event.clientX, y: event.clientY } });
    };
    return {
      onNodeDoubleClick: (_: ReactMouseEvent, node: FlowNode) => {
        if (isNoteNode(node)) return;
        const scope = scopeBehind(node.data.node);
        if (scope !== null) store.getState().open({ node: node.id, subgraph: scope });
      },
      onNodeClick: (_: ReactMouseEvent, node: FlowNode) => {
        if (!isNoteNode(node)) useView.getState().set({ panelOpen: true });
      },
      onNodeContextMenu: (event: ReactMouseEvent, node: FlowNode) => openMenu(event, node.id),
      onSelectionContextMenu: (event: ReactMouseEvent) => openMenu(event, null),
      onPaneContextMenu: (event: ReactMouseEvent | MouseEvent) => {
        store.getState().select([]);
        openMenu(event, null);
      },
      onDoubleClick: (event: ReactMouseEvent) => {
        if (event.target instanceof Element && event.target.closest(".react-flow__pane") !== null) {
          useStageUi.getState().openSearch({ at: { x: event.clientX, y: event.clientY }, wire: null });
        }
      },
      onMoveStart: (event: MouseEvent | TouchEvent | null) => {
        // Only a person's own movement: fitting moves the canvas too, without an event.
        if (event !== null) useStageUi.setState({ fitted: false });
      },
      onDragOver: (event: DragEvent) => {
        if (event.dataTransfer.types.includes(NODE_DRAG)) {
          event.preventDefault();
          event.dataTransfer.dropEffect = "copy";
        }
      },
      onDrop: (event: DragEvent) => {
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
      },
    };
  }, [store, catalog, flow, kept]);
}
