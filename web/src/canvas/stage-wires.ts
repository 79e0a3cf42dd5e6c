import type { Connection, FinalConnectionState, OnConnectStartParams } from "@xyflow/react";
import { useCallback } from "react";
import { bridge } from "./model/bridge";
import { inputOf, outputOf } from "./model/catalog";
import { refuses } from "./model/connect";
import { findNode, type GraphEdge } from "./model/document";
import type { FlowEdge } from "./model/flow";
import type { WireInHand as Hand } from "./model/search";
import { typesOf } from "./model/types";
import { useRefusalText } from "./refusal";
import { useEditor } from "./store/editor";
import { currentLevel, documentOf, insideModule, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";

/** Drawing wires with the pointer: which are refused, and what happens where one is let go. */
export function useStageWires() {
  const { store, catalog } = useEditor();
  const word = useRefusalText();

  const portOf = useCallback(
    (nodeId: string | null, port: string | null, side: "source" | "target") => {
      const state = store.getState();
      const node = nodeId === null ? undefined : findNode(currentLevel(state), nodeId);
      const definition = node && typesOf(documentOf(state), catalog).of(node);
      return side === "source" ? outputOf(definition, port ?? "") : inputOf(definition, port ?? "");
    },
    [store, catalog],
  );

  const refusal = useCallback(
    (edge: GraphEdge) => {
      const state = store.getState();
      return refuses(currentLevel(state), typesOf(documentOf(state), catalog), edge);
    },
    [store, catalog],
  );

  const isValidConnection = useCallback(
    (connection: Connection | FlowEdge) => refusal(asEdge(connection)) === null,
    [refusal],
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
      useStageUi.setState({ refused: null });
      if (handleType === null) return;
      const port = portOf(nodeId, handleId, handleType);
      if (port !== undefined) useStageUi.setState({ hand: { end: handleType, type: port.type } });
    },
    [portOf],
  );

  const onConnectEnd = useCallback(
    (event: MouseEvent | TouchEvent, connection: FinalConnectionState) => {
      useStageUi.setState({ hand: null });
      const { fromHandle, toHandle, isValid } = connection;
      const at = "changedTouches" in event ? event.changedTouches[0] : event;
      if (fromHandle === null || at === undefined) return;
      const place = { x: at.clientX, y: at.clientY };
      if (toHandle !== null) {
        if (isValid === true || fromHandle.type === toHandle.type) return;
        const [from, to] = fromHandle.type === "source" ? [fromHandle, toHandle] : [toHandle, fromHandle];
        const edge = {
          source: from.nodeId,
          sourceHandle: from.id ?? "",
          target: to.nodeId,
          targetHandle: to.id ?? "",
        };
        const why = refusal(edge);
        if (why?.reason !== "wrongType") return;
        const between = bridge(
          catalog,
          why.params.gives ?? "",
          why.params.takes ?? "",
          insideModule(store.getState()),
        );
        // Without a way to help there is nothing to add to what was said at the pointer.
        if (between === null) return;
        useStageUi.setState({ refused: { at: place, edge, text: word(why), bridge: between } });
        return;
      }
      if (!(event.target instanceof Element) || event.target.closest(".react-flow__pane") === null) return;
      const port = portOf(fromHandle.nodeId, fromHandle.id ?? null, fromHandle.type);
      if (port === undefined) return;
      const wire: Hand = { node: fromHandle.nodeId, port: port.name, type: port.type, end: fromHandle.type };
      useStageUi.getState().openSearch({ at: place, wire });
    },
    [store, catalog, portOf, refusal, word],
  );

  return { isValidConnection, onConnect, onConnectStart, onConnectEnd };
}

function asEdge(connection: Connection | FlowEdge): GraphEdge {
  return {
    source: connection.source,
    sourceHandle: connection.sourceHandle ?? "",
    target: connection.target,
    targetHandle: connection.targetHandle ?? "",
  };
}
