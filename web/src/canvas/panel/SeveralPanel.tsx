import { useTranslation } from "react-i18next";
import type { NodeDefinition } from "../../api/types";
import { Button, IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { findNode, type GraphNode, nodeTitle } from "../model/document";
import { sharedParams } from "../model/shared";
import { useEditor, useGraph } from "../store/editor";
import { currentLevel } from "../store/graph-store";
import { useStageUi } from "../store/stage-ui";
import { useView } from "../store/view";
import { ParamField } from "./ParamField";

/** Several selected nodes: what they share is changed for all of them at once. */
export function SeveralPanel({ nodes }: { nodes: readonly GraphNode[] }) {
  const { t } = useTranslation("panel");
  const { catalog, store } = useEditor();
  const level = useGraph(currentLevel);
  const definitionOf = (node: GraphNode): NodeDefinition | undefined => catalog.get(node.type);
  const params = sharedParams(nodes, definitionOf);
  const simple = params.filter((param) => param.advanced !== true);
  const advanced = params.filter((param) => param.advanced === true);
  const ids = nodes.map((node) => node.id).join(",");
  return (
    <aside className="panel" aria-label={t("selectedNodes")}>
      <div className="panel-head">
        <Icon name="layers" className="ink-2" />
        <div className="grow">
          <h2 className="clip">{t("severalNodes", { count: nodes.length })}</h2>
          <p className="text-12 ink-3">{t("sharedNote")}</p>
        </div>
        <IconButton
          icon="close"
          size="s"
          label={t("canvas:closePanel")}
          keys="P"
          onPress={() => useView.getState().set({ panelOpen: false })}
        />
      </div>
      <div className="panel-body panel-body-alone">
        <div className="form">
          {params.length === 0 && <p className="text-12 ink-3">{t("nothingShared")}</p>}
          {simple.map((param) => (
            <ParamField key={`${ids} ${param.name}`} nodes={nodes} param={param} />
          ))}
          {advanced.length > 0 && <h3 className="form-section">{t("canvas:advanced")}</h3>}
          {advanced.map((param) => (
            <ParamField key={`${ids} ${param.name}`} nodes={nodes} param={param} />
          ))}
          <h3 className="form-section">{t("theNodes")}</h3>
          <ul className="several-list">
            {nodes.map((node) => (
              <li key={node.id}>
                <button
                  type="button"
                  className="link clip"
                  onClick={() => store.getState().select([node.id])}
                >
                  {nodeTitle(findNode(level, node.id) ?? node, catalog.get(node.type)?.title)}
                </button>
                <span className="text-12 ink-3 clip">{catalog.get(node.type)?.title ?? node.type}</span>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <div className="panel-foot">
        <span className="grow" />
        <Button icon="trash" onPress={() => useStageUi.getState().removeChosen()}>
          {t("canvas:delete")}
        </Button>
      </div>
    </aside>
  );
}
