import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useDisconnected, useLive } from "../../api";
import { Button, IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Menu } from "../../ui/Menu";
import { Tabs } from "../../ui/Tabs";
import { iconOf } from "../icons";
import { duplicate } from "../model/copying";
import { findNode, type GraphNode, nodeTitle, subgraphOf } from "../model/document";
import { useRunCommands } from "../run-commands";
import { useDefinition, useEditor, useGraph } from "../store/editor";
import { currentLevel, documentOf, nodePath, scopeOf } from "../store/graph-store";
import { useRunView } from "../store/run-view";
import { type PanelTab, useView } from "../store/view";
import { useWords } from "../words";
import { Parameters } from "./Parameters";
import { SeveralPanel } from "./SeveralPanel";

const Help = lazy(() => import("./Help"));
const NodeOutputs = lazy(() => import("../../inspector/NodeOutputs"));

/** Everything about the one selected node, or what several have in common. */
export function NodePanel() {
  const id = useGraph((state) => (state.selection.length === 1 ? (state.selection[0] ?? null) : null));
  const node = useGraph((state) => (id === null ? undefined : findNode(currentLevel(state), id)));
  const selection = useGraph((state) => state.selection);
  const level = useGraph(currentLevel);
  const open = useView((state) => state.panelOpen);
  if (!open) return null;
  if (node !== undefined) return <Panel key={node.id} node={node} />;
  const several = level.nodes.filter((one) => selection.includes(one.id));
  return several.length > 1 ? <SeveralPanel nodes={several} /> : null;
}

/** Runs the selected node with what it needs, and nothing behind it. */
function RunToHere({ id }: { id: string }) {
  const { t } = useTranslation("panel");
  const inside = useGraph((state) => state.trail.length > 0);
  const run = useRunView();
  const { start, starting } = useRunCommands();
  const disconnected = useDisconnected();
  if (inside) return null;
  return (
    <Button
      icon="play"
      iconFilled
      isDisabled={starting || disconnected || run?.active === true}
      onPress={() => start(id)}
    >
      {t("runToHere")}
    </Button>
  );
}

function Panel({ node }: { node: GraphNode }) {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const words = useWords();
  // Another node begins with its parameters again.
  const [tab, setTab] = useState<PanelTab>("parameters");
  const run = useRunView();
  const definition = useDefinition(node);
  const path = useGraph((state) => nodePath(state, node.id));
  const wired = useGraph(
    (state) => currentLevel(state).edges.filter((edge) => edge.target === node.id).length,
  );
  const outputs = useLive(run?.runId ?? null, (live) => live?.nodes[path]?.outputs);
  const count = Object.keys(outputs ?? {}).length;
  const tabs = useMemo(
    () => [
      { id: "parameters" as const, label: t("tab.parameters") },
      { id: "outputs" as const, label: t("tab.outputs"), count: count > 0 ? count : undefined },
      { id: "help" as const, label: t("tab.help") },
    ],
    [t, count],
  );
  const copy = () => {
    const state = store.getState();
    const made = duplicate(documentOf(state), scopeOf(state), [node.id], { x: 32, y: 32 });
    state.perform(made.command);
    store.getState().select(made.ids);
  };
  const remove = () => {
    const state = store.getState();
    state.perform({ do: "remove", scope: scopeOf(state), nodes: [node.id], edges: [] });
  };
  const subgraph = subgraphOf(node);
  const inputs = definition?.inputs.length ?? 0;
  return (
    <aside className="panel" aria-label={t("selectedNode")}>
      <div className="panel-head">
        <Icon name={iconOf(definition)} className="ink-2" />
        <div className="grow">
          <h2 className="clip">{nodeTitle(node, definition?.title)}</h2>
          <p className="text-12 ink-3">
            {definition === undefined
              ? t("unknownType", { type: node.type })
              : inputs === 0
                ? words.category(definition.category)
                : t("categoryWired", { category: words.category(definition.category), wired, count: inputs })}
          </p>
        </div>
        <Menu
          label={t("nodeActions")}
          entries={[
            { id: "copy", label: t("duplicate"), icon: "copy", keys: "Ctrl D", onAction: copy },
            { id: "remove", label: t("delete"), icon: "trash", keys: "Del", onAction: remove },
          ]}
        >
          <IconButton icon="more" size="s" label={t("nodeActions")} />
        </Menu>
        <IconButton
          icon="close"
          size="s"
          label={t("closePanel")}
          keys="P"
          onPress={() => useView.getState().set({ panelOpen: false })}
        />
      </div>
      <Tabs<PanelTab>
        label={t("nodeTabs")}
        className="panel-tabs"
        headClassName="panel-tab-head"
        panelClassName="panel-body"
        tabs={tabs}
        selected={tab}
        onSelect={setTab}
      >
        {tab === "parameters" && <Parameters node={node} definition={definition} />}
        {tab === "outputs" && (
          <Suspense>
            <NodeOutputs node={node} definition={definition} path={path} />
          </Suspense>
        )}
        {tab === "help" && (
          <Suspense>
            <Help definition={definition} />
          </Suspense>
        )}
      </Tabs>
      <div className="panel-foot">
        {subgraph !== null && (
          <Button icon="layers" onPress={() => store.getState().open({ node: node.id, subgraph })}>
            {t("openLayers")}
          </Button>
        )}
        <RunToHere id={node.id} />
        <span className="grow" />
        <IconButton icon="copy" label={t("duplicate")} keys="Ctrl D" onPress={copy} />
        <IconButton icon="trash" label={t("delete")} keys="Del" onPress={remove} />
      </div>
    </aside>
  );
}
