import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  type EdgeChange,
  type FinalConnectionState,
  type NodeChange,
  type OnConnectStartParams,
  ReactFlow,
  SelectionMode,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { EmptyStage } from "./EmptyStage";
import { GraphNodeView } from "./GraphNodeView";
import { inputOf, outputOf, portType } from "./model/catalog";
import { refuses } from "./model/connect";
import { findNode, type GraphEdge, type Point, subgraphOf } from "./model/document";
import { type FlowEdge, type FlowNode, toFlowEdges, toFlowNodes } from "./model/flow";
import type { WireInHand as Hand } from "./model/search";
import { NODE_DRAG, place } from "./placing";
import { QuickSearch } from "./QuickSearch";
import { StageTools } from "./StageTools";
import { useEditor, useGraph } from "./store/editor";
import { currentLevel, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { useKeepFitted, useKeepInSight } from "./use-keep-in-sight";
import { Wire } from "./Wire";
import { RefusalTip, WireInHand } from "./WireInHand";

const nodeTypes = { graph: GraphNodeView };
const edgeTypes = { wire: Wire };

export function Stage({ name }: { name: string }) {
  const { t } = useTranslation("canvas");
  const { store, catalog } = useEditor();
  const level = useGraph(currentLevel);
  const depth = useGraph((state) => state.trail.length);
  const selection = useGraph((state) => state.selection);
  const search = useStageUi((state) => state.search);
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const [nodes, setNodes] = useState<FlowNode[]>(() => toFlowNodes(level, []));
  const [edges, setEdges] = useState<FlowEdge[]>(() => toFlowEdges(level, []));
  const [wires, setWires] = useState<ReadonlySet<string>>(new Set());
  const [hand, setHand] = useState<{ end: "source" | "target"; type: string } | null>(null);
  const drawn = useRef(level);
  useKeepFitted(depth);
  useKeepInSight();

  // The document leads; what is only on the screen (measures, a drag under way) lives here.
  if (drawn.current !== level) {
    drawn.current = level;
    setNodes((before) => toFlowNodes(level, before));
    setEdges((before) => toFlowEdges(level, before));
  }

  const chosen = useMemo(() => new Set(selection), [selection]);
  const shownNodes = useMemo(
    () =>
      nodes.map((node) =>
        (node.selected ?? false) === chosen.has(node.id) ? node : { ...node, selected: chosen.has(node.id) },
      ),
    [nodes, chosen],
  );
  const shownEdges = useMemo(
    () =>
      edges.map((edge) =>
        (edge.selected ?? false) === wires.has(edge.id) ? edge : { ...edge, selected: wires.has(edge.id) },
      ),
    [edges, wires],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: the wires of another level are not selected
  useEffect(() => setWires(new Set()), [depth]);

  const onNodesChange = useCallback(
    (changes: NodeChange<FlowNode>[]) => {
      const own = changes.filter((change) => change.type === "dimensions" || change.type === "position");
      if (own.length > 0) setNodes((before) => applyNodeChanges(own, before));
      const selects = changes.filter((change) => change.type === "select");
      if (selects.length > 0) {
        const next = new Set(store.getState().selection);
        for (const change of selects) {
          if (change.selected) next.add(change.id);
          else next.delete(change.id);
        }
        store.getState().select([...next]);
      }
    },
    [store],
  );

  const onEdgesChange = useCallback((changes: EdgeChange<FlowEdge>[]) => {
    setWires((before) => {
      const next = new Set(before);
      for (const change of changes) {
        if (change.type !== "select") continue;
        if (change.selected) next.add(change.id);
        else next.delete(change.id);
      }
      return next;
    });
  }, []);

  const commitMove = useCallback(
    (moved: readonly FlowNode[]) => {
      const state = store.getState();
      const positions: Record<string, Point> = {};
      for (const node of moved) {
        positions[node.id] = { x: Math.round(node.position.x), y: Math.round(node.position.y) };
      }
      state.perform({ do: "move", scope: scopeOf(state), positions });
    },
    [store],
  );

  const isValidConnection = useCallback(
    (connection: Connection | FlowEdge) =>
      refuses(currentLevel(store.getState()), catalog, asEdge(connection)) === null,
    [store, catalog],
  );

  const onConnect = useCallback(
    (connection: Connection) => {
      const state = store.getState();
      state.perform({ do: "connect", scope: scopeOf(state), edge: asEdge(connection) });
    },
    [store],
  );

  const onConnectStart = useCallback(
    (_: MouseEvent | TouchEvent, { nodeId, handleId, handleType }: OnConnectStartParams) => {
      const node = nodeId === null ? undefined : findNode(currentLevel(store.getState()), nodeId);
      const definition = node && catalog.get(node.type);
      const port =
        handleType === "source" ? outputOf(definition, handleId ?? "") : inputOf(definition, handleId ?? "");
      if (port !== undefined && handleType !== null) setHand({ end: handleType, type: port.type });
    },
    [store, catalog],
  );

  const onConnectEnd = useCallback(
    (event: MouseEvent | TouchEvent, connection: FinalConnectionState) => {
      setHand(null);
      const { fromHandle, toHandle } = connection;
      if (fromHandle === null || toHandle !== null || !(event.target instanceof Element)) return;
      if (event.target.closest(".react-flow__pane") === null) return;
      const node = findNode(currentLevel(store.getState()), fromHandle.nodeId);
      const definition = node && catalog.get(node.type);
      const port =
        fromHandle.type === "source"
          ? outputOf(definition, fromHandle.id ?? "")
          : inputOf(definition, fromHandle.id ?? "");
      if (port === undefined) return;
      const at = "changedTouches" in event ? event.changedTouches[0] : event;
      if (at === undefined) return;
      const wire: Hand = {
        node: fromHandle.nodeId,
        port: port.name,
        type: port.type,
        end: fromHandle.type,
      };
      useStageUi.getState().openSearch({ at: { x: at.clientX, y: at.clientY }, wire });
    },
    [store, catalog],
  );

  const removeChosen = useCallback(() => {
    const state = store.getState();
    if (state.selection.length === 0 && wires.size === 0) return;
    state.perform({ do: "remove", scope: scopeOf(state), nodes: state.selection, edges: [...wires] });
    setWires(new Set());
  }, [store, wires]);

  useEffect(() => {
    useStageUi.setState({ removeChosen });
  }, [removeChosen]);

  return (
    <main
      className="stage"
      aria-label={t("graphNamed", { name })}
      data-hand={hand?.end}
      data-hand-type={hand === null ? undefined : portType(hand.type)}
    >
      <ReactFlow<FlowNode, FlowEdge>
        className="graph"
        nodes={shownNodes}
        edges={shownEdges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onNodeDragStop={(_, _node, moved) => commitMove(moved)}
        onSelectionDragStop={(_, moved) => commitMove(moved)}
        onConnect={onConnect}
        onConnectStart={onConnectStart}
        onConnectEnd={onConnectEnd}
        isValidConnection={isValidConnection}
        connectionLineComponent={WireInHand}
        connectionRadius={24}
        onNodeDoubleClick={(_, node) => {
          const subgraph = subgraphOf(node.data.node);
          if (subgraph !== null) store.getState().open({ node: node.id, subgraph });
        }}
        onNodeClick={() => useView.getState().set({ panelOpen: true })}
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
          const definition = catalog.get(event.dataTransfer.getData(NODE_DRAG));
          if (definition === undefined) return;
          event.preventDefault();
          const at = flow.screenToFlowPosition({ x: event.clientX - 60, y: event.clientY - 16 });
          place(store, definition, at, null, null);
        }}
        zoomOnDoubleClick={false}
        deleteKeyCode={null}
        selectionMode={SelectionMode.Partial}
        multiSelectionKeyCode={["Shift", "Control", "Meta"]}
        disableKeyboardA11y
        nodesFocusable={false}
        edgesFocusable={false}
        minZoom={0.2}
        maxZoom={2}
        elevateNodesOnSelect
        proOptions={{ hideAttribution: true }}
      >
        <Background
          variant={BackgroundVariant.Dots}
          gap={20}
          size={1.4}
          color="var(--grid)"
          bgColor="var(--canvas)"
        />
        <RefusalTip />
      </ReactFlow>
      {level.nodes.length === 0 && depth === 0 && search === null && <EmptyStage />}
      <StageTools />
      {search !== null && <QuickSearch request={search} />}
    </main>
  );
}

function asEdge(connection: Connection | FlowEdge): GraphEdge {
  return {
    source: connection.source,
    sourceHandle: connection.sourceHandle ?? "",
    target: connection.target,
    targetHandle: connection.targetHandle ?? "",
  };
}
