import { useStore as useFlow, useReactFlow } from "@xyflow/react";
import { Button as AriaButton } from "react-aria-components/Button";
import { Toolbar } from "react-aria-components/Toolbar";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { FIT } from "./fit";
import { findNode, nodeTitle } from "./model/document";
import { tidy } from "./model/tidy";
import { useEditor, useGraph } from "./store/editor";
import { currentLevel, documentOf, scopeOf } from "./store/graph-store";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { reducedMotion } from "./use-keep-in-sight";

export function StageTools() {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const flow = useReactFlow();
  const zoom = useFlow((state) => state.transform[2]);
  const libraryOpen = useView((state) => state.libraryOpen);
  const duration = reducedMotion() ? 0 : 160;
  const move = (act: () => Promise<boolean>) => {
    useStageUi.setState({ fitted: false });
    void act();
  };
  const tidyUp = () => {
    const state = store.getState();
    const sizes = new Map(
      flow
        .getNodes()
        .map((node) => [
          node.id,
          { width: node.measured?.width ?? 200, height: node.measured?.height ?? 100 },
        ]),
    );
    state.perform({ do: "move", scope: scopeOf(state), positions: tidy(currentLevel(state), sizes) });
    requestAnimationFrame(() => void flow.fitView({ ...FIT, duration }));
  };
  return (
    <>
      <Toolbar className="float stage-tools" aria-label={t("canvasTools")}>
        <IconButton
          icon="library"
          label={t("library")}
          keys="L"
          className={libraryOpen ? "on" : ""}
          aria-pressed={libraryOpen}
          onPress={() => useView.getState().set({ libraryOpen: !libraryOpen })}
        />
        <Button
          kind="ghost"
          icon="plus"
          keys="/"
          onPress={() => useStageUi.getState().openSearch({ at: null, wire: null })}
        >
          {t("addNode")}
        </Button>
        <span className="float-line" />
        <IconButton icon="layout" label={t("tidy")} onPress={tidyUp} />
      </Toolbar>
      <Breadcrumb />
      <Toolbar className="float stage-zoom" aria-label={t("view")}>
        <IconButton
          icon="minus"
          label={t("zoomOut")}
          onPress={() => move(() => flow.zoomOut({ duration }))}
        />
        <AriaButton
          className="btn btn-ghost mono stage-percent"
          aria-label={t("zoomReset")}
          onPress={() => move(() => flow.zoomTo(1, { duration }))}
        >
          {Math.round(zoom * 100)} %
        </AriaButton>
        <IconButton icon="plus" label={t("zoomIn")} onPress={() => move(() => flow.zoomIn({ duration }))} />
        <span className="float-line" />
        <IconButton
          icon="fit"
          label={t("fit")}
          keys="1"
          onPress={() => {
            useStageUi.setState({ fitted: true });
            void flow.fitView({ ...FIT, duration });
          }}
        />
        <IconButton
          icon="help"
          label={t("keys.all")}
          keys="?"
          onPress={() => useStageUi.setState({ keysOpen: true })}
        />
      </Toolbar>
    </>
  );
}

/** Where you are when a module is open. */
function Breadcrumb() {
  const { t } = useTranslation("canvas");
  const { store, catalog } = useEditor();
  const trail = useGraph((state) => state.trail);
  const doc = useGraph(documentOf);
  const name = useGraph((state) => state.name);
  if (trail.length === 0) return null;
  const titles = trail.map((module, depth) => {
    const above = depth === 0 ? doc : doc.subgraphs?.[trail[depth - 1]?.subgraph ?? ""];
    const node = above && findNode(above, module.node);
    return node ? nodeTitle(node, catalog.get(node.type)?.title) : module.node;
  });
  return (
    <nav className="stage-trail" aria-label={t("whereYouAre")}>
      <Button kind="ghost" size="s" onPress={() => store.getState().leave(0)}>
        {name}
      </Button>
      {titles.map((title, depth) => (
        <span className="row" key={trail[depth]?.node}>
          <Icon name="right" className="ink-3" />
          {depth === titles.length - 1 ? (
            <span className="strong" aria-current="location">
              {title}
            </span>
          ) : (
            <Button kind="ghost" size="s" onPress={() => store.getState().leave(depth + 1)}>
              {title}
            </Button>
          )}
        </span>
      ))}
    </nav>
  );
}
