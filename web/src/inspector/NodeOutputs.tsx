import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useArtifacts, useLive } from "../api";
import type { NodeDefinition } from "../api/types";
import { ArtifactList } from "../canvas/dock/ArtifactList";
import { findNode, type GraphNode, nodeTitle } from "../canvas/model/document";
import { useEditor, useGraph } from "../canvas/store/editor";
import { currentLevel } from "../canvas/store/graph-store";
import { type RunView, useRunView } from "../canvas/store/run-view";
import { Segmented } from "../ui/Segmented";
import { useOutputs } from "./hooks";
import { InspectItem } from "./InspectItem";
import { StepsView } from "./StepsView";
import { inputsOf, keptOf, sourceOf } from "./sources";

interface Props {
  node: GraphNode;
  definition: NodeDefinition | undefined;
  /** How events and captured outputs name it: `block/conv` inside a preset. */
  path: string;
}

type Side = "outputs" | "inputs" | "steps";

/** What went into the node and what came out of it in the run, and what it did step by step. */
export default function NodeOutputs(props: Props) {
  const { t } = useTranslation("canvas");
  const run = useRunView();
  if (run === null) return <p className="panel-empty">{t("outputsNoRun")}</p>;
  return <OfRun key={run.runId} {...props} run={run} />;
}

function OfRun({ node, definition, path, run }: Props & { run: RunView }) {
  const { t } = useTranslation("inspector");
  const [chosen, setSide] = useState<Side>("outputs");
  const live = useLive(run.runId, (all) => all?.nodes[path]);
  const list = useOutputs(run.runId);
  const trace = list?.traces?.find((info) => info.node_id === path);
  const inputs = inputsOf(list, path);
  const sides: Side[] = [
    "outputs",
    ...(inputs.length > 0 ? (["inputs"] as const) : []),
    ...(trace ? (["steps"] as const) : []),
  ];
  const side = sides.includes(chosen) ? chosen : "outputs";
  return (
    <div className="form">
      {sides.length > 1 && (
        <Segmented
          label={t("which")}
          small
          value={side}
          options={sides.map((id) => ({ id, label: t(id) }))}
          onChange={setSide}
        />
      )}
      {side === "outputs" && <Given node={node} definition={definition} path={path} run={run} />}
      {side === "inputs" && <Taken definition={definition} path={path} run={run} />}
      {side === "steps" && trace !== undefined && (
        <StepsView runId={run.runId} info={trace} live={run.active && live?.status === "running"} />
      )}
    </div>
  );
}

/** After: each output port. */
function Given({ node, definition, path, run }: Props & { run: RunView }) {
  const { t } = useTranslation("inspector");
  const live = useLive(run.runId, (all) => all?.nodes[path]);
  const list = useOutputs(run.runId);
  const ports = [
    ...new Set([...Object.keys(live?.outputs ?? {}), ...Object.keys(list?.origins[path] ?? {})]),
  ];
  const ended = live !== undefined && ["succeeded", "reused"].includes(live.status);
  const type = (port: string) => definition?.outputs.find((output) => output.name === port)?.type ?? "any";
  const kept = (port: string) => keptOf(list, sourceOf(list, path, port));
  // A tensor has more to show than what its summary says already.
  const first =
    ports.find((port) => kept(port)?.type === "tensor") ?? ports.find((port) => kept(port) !== undefined);
  return (
    <>
      {ports.length === 0 && <p className="text-12 ink-3">{t("canvas:outputsNotYet")}</p>}
      {ports.map((port) => {
        const told = live?.outputs[port];
        const own = kept(port);
        return (
          <InspectItem
            key={`${port} ${port === first}`}
            runId={run.runId}
            name={port.replaceAll("_", " ")}
            type={told?.type ?? own?.type ?? type(port)}
            shape={told?.shape ?? own?.facts.shape}
            summary={told?.summary ?? own?.facts.summary}
            source={own === undefined ? null : sourceOf(list, path, port)}
            openAtFirst={port === first}
          />
        );
      })}
      {ended && list !== undefined && ports.length > 0 && first === undefined && (
        <p className="text-12 ink-3">{t("notKept")}</p>
      )}
      <NodeFiles runId={run.runId} nodeId={node.id} />
    </>
  );
}

/** Before: what each wire brought. */
function Taken({
  definition,
  path,
  run,
}: {
  definition: NodeDefinition | undefined;
  path: string;
  run: RunView;
}) {
  const { t } = useTranslation("inspector");
  const { catalog } = useEditor();
  const level = useGraph(currentLevel);
  const list = useOutputs(run.runId);
  const inputs = inputsOf(list, path);
  const first = inputs.find(({ source }) => keptOf(list, source) !== undefined)?.port;
  if (first === undefined) return <p className="text-12 ink-3">{t("noInputs")}</p>;
  return inputs.map(({ port, source }) => {
    const kept = keptOf(list, source);
    const from = findNode(level, source.node_id.split("/").at(-1) ?? "");
    const title = from === undefined ? source.node_id : nodeTitle(from, catalog.get(from.type)?.title);
    return (
      <InspectItem
        key={port}
        runId={run.runId}
        name={port.replaceAll("_", " ")}
        type={kept?.type ?? definition?.inputs.find((input) => input.name === port)?.type ?? "any"}
        shape={kept?.facts.shape}
        note={t("from", { title, port: source.port.replaceAll("_", " ") })}
        summary={kept?.facts.summary}
        source={kept === undefined ? null : source}
        openAtFirst={port === first}
      />
    );
  });
}

function NodeFiles({ runId, nodeId }: { runId: string; nodeId: string }) {
  const { data } = useArtifacts(runId);
  const own = data?.artifacts.filter((artifact) => artifact.node_id === nodeId) ?? [];
  return <ArtifactList runId={runId} artifacts={own} />;
}
