import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { InnerNode } from "../../api";
import type { NodeDefinition } from "../../api/types";
import { countText, shapeText } from "../format";
import { type GraphNode, isGroup, scopeBehind } from "../model/document";
import { layersOf } from "../model/layers";
import { preview } from "../model/params";
import { knownShapeText } from "../model/shapes";
import { useEditor, useGraph } from "../store/editor";
import { documentOf } from "../store/graph-store";
import { useInner } from "../store/run-view";
import type { Words } from "../words";
import { NodeCurve } from "./NodeCurve";

/** A node is no taller than a screen; opening it shows the rest. */
const MOST_LAYERS = 14;

interface BodyProps {
  /** The node, as a run names it. */
  path: string;
  node: GraphNode;
  definition: NodeDefinition | undefined;
  words: Words;
}

/** What a node tells of itself: its parameters, its layers, its curve. */
export const NodeBody = memo(function NodeBody({ path, node, definition, words }: BodyProps) {
  const subgraph = scopeBehind(node);
  if (subgraph !== null && !isGroup(node)) return <Layers path={path} subgraph={subgraph} />;
  if (definition === undefined) return null;
  const shown = preview(node, definition);
  return (
    <>
      {subgraph !== null && <Layers path={path} subgraph={subgraph} />}
      {shown.length > 0 && (
        <dl className="node-preview">
          {shown.map((row) => (
            <div key={row.param.name}>
              <dt>{words.paramLabel(row.param).toLowerCase()}</dt>
              <dd>{row.choice === null ? row.value : words.choiceLabel(row.choice)}</dd>
            </div>
          ))}
        </dl>
      )}
      <NodeCurve path={path} />
    </>
  );
});

function Layers({ path, subgraph }: { path: string; subgraph: string }) {
  const shapes = useGraph((state) => state.shapes);
  const doc = useGraph(documentOf);
  const { catalog } = useEditor();
  const layers = useMemo(() => layersOf(doc, subgraph), [doc, subgraph]);
  const inner = useInner(subgraph);
  const { t } = useTranslation("editor");
  if (layers.length === 0) return null;
  const shown = layers.length > MOST_LAYERS + 1 ? layers.slice(0, MOST_LAYERS) : layers;
  return (
    <table className="node-layers">
      <tbody>
        {shown.map((layer) => {
          const built: InnerNode | undefined = inner[`${subgraph}/${layer.id}`];
          const at = `${path}/${layer.id}`;
          const port = catalog.get(layer.type)?.outputs[0]?.name ?? "";
          const known = shapes.outputs.get(`${at}>${port}`)?.shape;
          // Without the batch, as the layer's own documentation writes it.
          const shape = known === undefined ? shapeText(built?.shape) : knownShapeText(known.slice(1));
          const parameters = shapes.parameters.get(at) ?? built?.parameters;
          return (
            <tr key={layer.id}>
              <td>{layer.label ?? catalog.get(layer.type)?.type ?? layer.type}</td>
              <td>{shape}</td>
              <td>{parameters ? countText(parameters) : ""}</td>
            </tr>
          );
        })}
        {shown.length < layers.length && (
          <tr>
            <td colSpan={3}>{t("moreLayers", { count: layers.length - shown.length })}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
