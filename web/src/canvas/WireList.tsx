import { useReactFlow } from "@xyflow/react";
import { useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../ui/Icon";
import { ChoiceList } from "./ChoiceList";
import { iconOf } from "./icons";
import { nodeTitle } from "./model/document";
import { score, type WireInHand } from "./model/search";
import { startsOf, targetsOf } from "./model/targets";
import { PortShape } from "./PortShape";
import { useRefusalText } from "./refusal";
import { useEditor, useGraph, useTypes } from "./store/editor";
import { currentLevel, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";
import { focusNode } from "./use-node-keys";

/** Ports that do not fit are shown up to here: enough to read why. */
const MOST_REFUSED = 12;

/** Drawing a wire with the keyboard: first the port, then where it goes. */
export default function WireList({ node: id }: { node: string }) {
  const { t } = useTranslation("editor");
  const { store } = useEditor();
  const types = useTypes();
  const level = useGraph(currentLevel);
  const flow = useReactFlow();
  const word = useRefusalText();
  const [query, setQuery] = useState("");
  const starts = useMemo(() => startsOf(level, types, id), [level, types, id]);
  const [picked, setPicked] = useState<WireInHand | null>(null);
  const wire = picked ?? (starts.length === 1 ? (starts[0] ?? null) : null);
  const titleOf = useCallback(
    (node: Parameters<typeof types.of>[0]) => nodeTitle(node, types.of(node)?.title),
    [types],
  );
  const targets = useMemo(() => (wire === null ? [] : targetsOf(level, types, wire)), [level, types, wire]);
  const close = useCallback(() => {
    useStageUi.setState({ wiring: null });
    focusNode(id);
  }, [id]);
  const portName = (name: string) => name.replaceAll("_", " ");
  const typeName = (type: string) => t(`canvas:type.${type}`, { defaultValue: type });

  /** The canvas shows the node that is being pointed at. */
  const show = useCallback(
    (item: string | null) => {
      const target = item === null ? undefined : targets[Number(item.split(" ")[1])];
      store.getState().select(target === undefined ? [id] : [id, target.node.id]);
      if (target === undefined) return;
      const stage = document.querySelector(".stage")?.getBoundingClientRect();
      const at = flow.flowToScreenPosition(target.node.position);
      const seen =
        stage !== undefined &&
        at.x > stage.left &&
        at.x < stage.right - 80 &&
        at.y > stage.top &&
        at.y < stage.bottom - 40;
      if (!seen) {
        useStageUi.setState({ fitted: false });
        const { x, y } = target.node.position;
        void flow.setCenter(x + 90, y + 60, { zoom: flow.getZoom() });
      }
    },
    [store, flow, targets, id],
  );

  if (wire === null) {
    const items = starts
      .map((start, at) => ({ start, at }))
      .filter(({ start }) => score(start.port, query) > 0)
      .map(({ start, at }, index, all) => ({
        id: `start ${at}`,
        ...(index === 0 || all[index - 1]?.start.end !== start.end
          ? { part: t(start.end === "source" ? "fromOutput" : "intoInput") }
          : {}),
        content: (
          <>
            <PortShape type={start.type} filled size={14} />
            <span className="search-title grow">{portName(start.port)}</span>
            <span className="text-12 ink-3">{typeName(start.type)}</span>
          </>
        ),
      }));
    return (
      <ChoiceList
        key="start"
        label={t("wireFrom")}
        query={query}
        onQuery={setQuery}
        items={items}
        none={t("noPort")}
        onChoose={(item) => {
          setPicked(starts[Number(item.split(" ")[1])] ?? null);
          setQuery("");
        }}
        onClose={close}
      />
    );
  }

  const rows = targets
    .map((target, at) => ({ target, at }))
    .filter(
      ({ target }) =>
        Math.max(score(titleOf(target.node), query), score(portName(target.port.name), query)) > 0,
    );
  const refused = rows.filter(({ target }) => target.refusal !== null).slice(0, MOST_REFUSED);
  const items = [
    ...rows
      .filter(({ target }) => target.refusal === null)
      .map(({ target, at }) => ({
        id: `target ${at}`,
        content: (
          <>
            <Icon name={iconOf(types.of(target.node))} className="ink-2" />
            <span className="search-title">{titleOf(target.node)}</span>
            <span className="grow">{portName(target.port.name)}</span>
            {target.taken && <span className="text-12 ink-3">{t("takesPlace")}</span>}
            <PortShape type={target.port.type} filled={target.taken} size={14} />
          </>
        ),
      })),
    {
      id: "new",
      content: (
        <>
          <Icon name="plus" className="ink-2" />
          <span className="search-title grow">{t("wireToNew")}</span>
        </>
      ),
    },
    ...refused.map(({ target, at }, index) => ({
      id: `target ${at}`,
      disabled: true,
      ...(index === 0 ? { part: t("canvas:doesNotFit") } : {}),
      content: (
        <>
          <Icon name={iconOf(types.of(target.node))} className="ink-3" />
          <span className="ink-2">
            {titleOf(target.node)} · {portName(target.port.name)}
          </span>
          <span className="text-12 ink-3 clip grow">{target.refusal && word(target.refusal)}</span>
        </>
      ),
    })),
  ];
  return (
    <ChoiceList
      key="target"
      label={t(wire.end === "source" ? "wireTo" : "wireFromNode", { port: portName(wire.port) })}
      query={query}
      onQuery={setQuery}
      items={items}
      none={t("noPort")}
      onPoint={show}
      onChoose={(item) => {
        useStageUi.setState({ wiring: null });
        if (item === "new") {
          store.getState().select([id]);
          useStageUi.getState().openSearch({ at: null, wire });
          return;
        }
        const target = targets[Number(item.split(" ")[1])];
        if (target === undefined) return;
        const state = store.getState();
        state.perform({ do: "connect", scope: scopeOf(state), edge: target.edge });
        store.getState().select([id]);
        focusNode(id);
      }}
      onClose={() => {
        store.getState().select([id]);
        close();
      }}
    />
  );
}
