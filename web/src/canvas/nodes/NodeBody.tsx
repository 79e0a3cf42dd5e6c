import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { InnerNode } from "../../api";
import type { NodeDefinition } from "../../api/types";
import { countText, shapeText } from "../format";
import { type GraphNode, isGroup, scopeBehind } from "../model/document";
import { layersOf } from "../model/layers";
import { preview } from "../model/params";
import { knownShapeText } from "../model/shapes";
import { useEditor, useGraph } from "../store/editor";
import { documentOf, nodePath } from "../store/graph-store";
import { useInner } from "../store/run-view";
import { useWords } from "../words";
import { NodeCurve } from "./NodeCurve";

/** A node is no taller than a screen; opening it shows the rest. */
const MOST_LAYERS = 14;

interface BodyProps {
  id: string;
  node: GraphNode;
  definition: NodeDefinition | undefined;
}

/** What a node tells of itself: its parameters, its layers, its curve. */
export function NodeBody({ id, node, definition }: BodyProps) {
  const words = useWords();
  const subgraph = scopeBehind(node);
  if (subgraph !== null && !isGroup(node)) return <Layers id={id} subgraph={subgraph} />;
  if (definition === undefined) return null;
  const shown = preview(node, definition);
  return (
    <>
      {subgraph !== null && <Layers id={id} subgraph={subgraph} />}
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
      <NodeCurve id={id} />
    </>
  );
}

function Layers({ id, subgraph }: { id: string; subgraph: string }) {
  const path = useGraph((state) => nodePath(state, id));
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
