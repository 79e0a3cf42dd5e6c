import { useReactFlow } from "@xyflow/react";
import { useTranslation } from "react-i18next";
import type { GraphProblem } from "../../api/types";
import { Icon } from "../../ui/Icon";
import { findNode, levelOf, nodeTitle, subgraphOf } from "../model/document";
import { useEditor, useGraph } from "../store/editor";
import { documentOf } from "../store/graph-store";
import { useStageUi } from "../store/stage-ui";
import { useView } from "../store/view";
import { reducedMotion } from "../use-keep-in-sight";
import { useWords } from "../words";

/** Everything that keeps the graph from running; each one leads to its node. */
export function Problems() {
  const { t } = useTranslation("canvas");
  const words = useWords();
  const problems = useGraph((state) => state.problems);
  const checked = useGraph((state) => state.checked);
  const { store, catalog } = useEditor();
  const flow = useReactFlow();

  const show = (problem: GraphProblem) => {
    if (problem.node_id === null) return;
    const state = store.getState();
    const doc = documentOf(state);
    const path = problem.node_id.split("/");
    const target = path.pop() ?? "";
    state.leave(0);
    let level = levelOf(doc, null);
    for (const id of path) {
      const node = findNode(level, id);
      const subgraph = node && subgraphOf(node);
      if (node === undefined || subgraph === null || subgraph === undefined) return;
      state.open({ node: id, subgraph });
      level = levelOf(doc, subgraph);
    }
    state.select([target]);
    useView.getState().set({ panelOpen: true });
    useStageUi.setState({ fitted: false });
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        void flow.fitView({
          nodes: [{ id: target }],
          maxZoom: 1,
          padding: 0.6,
          duration: reducedMotion() ? 0 : 160,
        });
      }),
    );
  };

  if (problems.length === 0) {
    return (
      <p className="dock-empty row">
        {checked && (
          <span className="ok">
            <Icon name="succeeded" />
          </span>
        )}
        {t(checked ? "noProblemsLong" : "checking")}
      </p>
    );
  }
  return (
    <ul className="problems" aria-label={t("dock.problems")}>
      {problems.map((problem) => (
        <li key={`${problem.node_id}${problem.code}${problem.message}`}>
          <button
            type="button"
            className="problem"
            onClick={() => show(problem)}
            disabled={problem.node_id === null}
          >
            <span className="warn">
              <Icon name="warning" />
            </span>
            {problem.node_id !== null && <span className="strong nowrap">{nameOf(problem.node_id)}</span>}
            <span className="grow">{words.problem(problem)}</span>
            {problem.node_id !== null && <span className="text-12 ink-3 nowrap">{t("showNode")}</span>}
          </button>
        </li>
      ))}
    </ul>
  );

  function nameOf(path: string): string {
    const doc = documentOf(store.getState());
    const names: string[] = [];
    let level = levelOf(doc, null);
    for (const id of path.split("/")) {
      const node = findNode(level, id);
      names.push(node === undefined ? id : nodeTitle(node, catalog.get(node.type)?.title));
      const subgraph = node === undefined ? null : subgraphOf(node);
      if (subgraph !== null) level = levelOf(doc, subgraph);
    }
    return names.join(" › ");
  }
}
