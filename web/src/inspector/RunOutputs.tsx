import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { StoredArtifact } from "../api/types";
import { ArtifactList } from "../canvas/dock/ArtifactList";
import { shapeText } from "../canvas/format";
import { nodeTitle } from "../canvas/model/document";
import { PortShape } from "../canvas/PortShape";
import { useEditor, useGraph } from "../canvas/store/editor";
import { documentOf } from "../canvas/store/graph-store";
import type { RunView } from "../canvas/store/run-view";
import { Icon } from "../ui/Icon";
import { useOutputs } from "./hooks";
import "./inspector.css";
import { OutputView } from "./OutputView";
import { StepsView } from "./StepsView";

interface Props {
  run: RunView;
  artifacts: readonly StoredArtifact[];
}

/** Everything that the run gave: files, captured outputs by node, step traces; one of them with all the room. */
export default function RunOutputs({ run, artifacts }: Props) {
  const { t } = useTranslation("inspector");
  const { catalog } = useEditor();
  const doc = useGraph(documentOf);
  const selected = useGraph((state) => (state.selection.length === 1 ? state.selection[0] : undefined));
  const list = useOutputs(run.runId);
  const [chosen, setChosen] = useState<string | null>(null);
  const outputs = list?.outputs ?? [];
  const traces = list?.traces ?? [];
  if (outputs.length === 0 && traces.length === 0) {
    if (artifacts.length === 0)
      return <p className="dock-empty">{t(list?.kept === false ? "notKept" : "canvas:noFiles")}</p>;
    return (
      <div className="dock-outputs">
        <ArtifactList runId={run.runId} artifacts={artifacts} />
      </div>
    );
  }
  const keys = new Set([
    "files",
    ...outputs.map((output) => `${output.node_id}>${output.port}`),
    ...traces.map((trace) => `${trace.node_id}#steps`),
  ]);
  // What people chose comes first, then what belongs to the selected node, then the files.
  const ofSelected = outputs.find((output) => output.node_id === selected);
  const fallback = ofSelected
    ? `${ofSelected.node_id}>${ofSelected.port}`
    : artifacts.length > 0
      ? "files"
      : [...keys][1];
  const shown = chosen !== null && keys.has(chosen) ? chosen : fallback;
  const nodes = [...new Set([...outputs.map((one) => one.node_id), ...traces.map((one) => one.node_id)])];
  // The selected node is what people look for: it stands first.
  nodes.sort((a, b) => Number(b === selected) - Number(a === selected));
  const title = (path: string) => {
    const node = doc.nodes.find((one) => one.id === path);
    return node === undefined ? path : nodeTitle(node, catalog.get(node.type)?.title);
  };
  const output = outputs.find((one) => `${one.node_id}>${one.port}` === shown);
  const trace = traces.find((one) => `${one.node_id}#steps` === shown);
  const entry = (key: string, content: React.ReactNode) => (
    <button key={key} type="button" aria-current={key === shown} onClick={() => setChosen(key)}>
      {content}
    </button>
  );
  return (
    <div className="dock-inspect">
      <nav className="dock-inspect-list" aria-label={t("which")}>
        {artifacts.length > 0 &&
          entry(
            "files",
            <>
              <Icon name="file" className="ink-3" />
              <span className="grow">{t("files")}</span>
              <span className="text-12 ink-3">{artifacts.length}</span>
            </>,
          )}
        {nodes.map((path) => (
          <section key={path}>
            <h3 className="clip">{title(path)}</h3>
            {outputs
              .filter((one) => one.node_id === path)
              .map((one) =>
                entry(
                  `${one.node_id}>${one.port}`,
                  <>
                    <PortShape type={one.type} filled />
                    <span className="grow clip">{one.port.replaceAll("_", " ")}</span>
                    <span className="mono-11 ink-3">{shapeText(one.facts.shape)}</span>
                  </>,
                ),
              )}
            {traces
              .filter((one) => one.node_id === path)
              .map((one) =>
                entry(
                  `${one.node_id}#steps`,
                  <>
                    <Icon name="activation" className="ink-3" />
                    <span className="grow">{t("steps")}</span>
                    <span className="text-12 ink-3">{one.kept}</span>
                  </>,
                ),
              )}
          </section>
        ))}
      </nav>
      <div className="dock-inspect-view">
        {shown === "files" && <ArtifactList runId={run.runId} artifacts={artifacts} />}
        {output !== undefined && (
          <OutputView
            key={shown}
            runId={run.runId}
            source={output}
            name={`${title(output.node_id)} · ${output.port.replaceAll("_", " ")}`}
          />
        )}
        {trace !== undefined && <StepsView key={shown} runId={run.runId} info={trace} live={run.active} />}
      </div>
    </div>
  );
}
