import { useTranslation } from "react-i18next";
import { useArtifacts, useLive } from "../../api";
import type { NodeDefinition } from "../../api/types";
import { ArtifactList } from "../dock/ArtifactList";
import { shapeText } from "../format";
import type { GraphNode } from "../model/document";
import { PortShape } from "../PortShape";
import { useRunView } from "../store/run-view";

interface Props {
  node: GraphNode;
  definition: NodeDefinition | undefined;
}

/** What the node gave in the run: each port in words, then its files and pictures. */
export function Outputs({ node, definition }: Props) {
  const { t } = useTranslation("canvas");
  const run = useRunView();
  const live = useLive(run?.runId ?? null, (all) => all?.nodes[node.id]);
  if (run === null || live === undefined) {
    return <p className="panel-empty">{t(run === null ? "outputsNoRun" : "outputsNotYet")}</p>;
  }
  const outputs = Object.entries(live.outputs);
  return (
    <div className="form">
      {outputs.length === 0 && <p className="text-12 ink-3">{t("outputsNotYet")}</p>}
      {outputs.map(([port, output]) => (
        <section key={port} className="output">
          <h3 className="row">
            <PortShape type={output.type ?? typeOf(definition, port)} filled />
            <span className="grow">{port.replaceAll("_", " ")}</span>
            <span className="mono-11 ink-3">{shapeText(output.shape)}</span>
          </h3>
          {output.summary !== undefined && <p className="text-12 ink-2">{output.summary}</p>}
          <Facts facts={output} />
        </section>
      ))}
      <NodeArtifacts runId={run.runId} nodeId={node.id} />
    </div>
  );
}

const SAID = new Set(["type", "summary", "shape"]);

function Facts({ facts }: { facts: Readonly<Record<string, unknown>> }) {
  const rows = Object.entries(facts).filter(
    ([name, value]) => !SAID.has(name) && (typeof value === "string" || typeof value === "number"),
  );
  if (rows.length === 0) return null;
  return (
    <dl className="facts">
      {rows.map(([name, value]) => (
        <div key={name} className="facts-row">
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            {typeof value === "number"
              ? Number(value.toPrecision(6)).toLocaleString("en-US", { maximumSignificantDigits: 6 })
              : String(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function NodeArtifacts({ runId, nodeId }: { runId: string; nodeId: string }) {
  const { data } = useArtifacts(runId);
  const own = data?.artifacts.filter((artifact) => artifact.node_id === nodeId) ?? [];
  return <ArtifactList runId={runId} artifacts={own} />;
}

function typeOf(definition: NodeDefinition | undefined, port: string): string {
  return definition?.outputs.find((output) => output.name === port)?.type ?? "any";
}
