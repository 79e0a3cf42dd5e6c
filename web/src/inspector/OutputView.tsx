import { useTranslation } from "react-i18next";
import "./inspector.css";
import { fromJsonNumber } from "../api";
import { useFormat } from "../i18n/format";
import { useAbout, useValues } from "./hooks";
import { cellText } from "./numbers";
import { Statistics } from "./Statistics";
import { Tensor } from "./Tensor";
import type { OutputAbout, Source } from "./types";

interface Props {
  runId: string;
  source: Source;
  name: string;
}

/** Everything about one captured output: what it is, its numbers in a few, and the numbers themselves. */
export function OutputView({ runId, source, name }: Props) {
  const { t } = useTranslation("inspector");
  const { data, error } = useAbout(runId, source);
  if (error !== null) return <p className="text-12 ink-3">{t("gone")}</p>;
  if (data === undefined) return <p className="text-12 ink-3">{t("reading")}</p>;
  const shape = shapeOf(data);
  return (
    <div className="output-view">
      <div className="output-about">
        <Facts about={data} />
        {data.statistics !== null && <Statistics facts={data.statistics} name={name} />}
      </div>
      {data.statistics !== null ? (
        <Tensor runId={runId} source={source} shape={shape} picture={data.picture} name={name} />
      ) : (
        <InWords runId={runId} source={source} about={data} />
      )}
    </div>
  );
}

function shapeOf(about: OutputAbout): number[] {
  const { shape } = about.output.facts;
  return Array.isArray(shape) ? shape.map(Number) : [];
}

function Facts({ about }: { about: OutputAbout }) {
  const { t } = useTranslation("inspector");
  const format = useFormat();
  const { facts, size } = about.output;
  const rows: [string, string][] = [];
  if (Array.isArray(facts.shape))
    rows.push([t("shape"), facts.shape.length === 0 ? "1" : facts.shape.join("×")]);
  if (typeof facts.dtype === "string") rows.push([t("dtype"), facts.dtype]);
  if (typeof facts.device === "string") rows.push([t("device"), facts.device]);
  rows.push([t("size"), format.memory(size)]);
  return (
    <dl className="facts">
      {rows.map(([label, text]) => (
        <div key={label} className="facts-row">
          <dt>{label}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What is no tensor: its numbers by name, its layers, or its text. */
function InWords({ runId, source, about }: { runId: string; source: Source; about: OutputAbout }) {
  const { values, layers } = about.output.facts;
  const { data } = useValues(runId, source, { index: [], start: [], size: [] });
  if (isNumbers(values)) {
    return (
      <dl className="facts">
        {Object.entries(values).map(([label, value]) => (
          <div key={label} className="facts-row">
            <dt>{label.replaceAll("_", " ")}</dt>
            <dd>{cellText(fromJsonNumber(value))}</dd>
          </div>
        ))}
      </dl>
    );
  }
  if (Array.isArray(layers)) return <Layers layers={layers} />;
  return <p className="output-text">{data?.text ?? about.output.facts.summary ?? ""}</p>;
}

interface Layer {
  id: string;
  type: string;
  shape?: readonly (number | string)[];
  parameters?: number;
}

function Layers({ layers }: { layers: readonly Layer[] }) {
  const { t } = useTranslation("inspector");
  return (
    <table className="output-layers">
      <thead>
        <tr>
          <th scope="col">{t("layer")}</th>
          <th scope="col">{t("shape")}</th>
          <th scope="col">{t("parameters")}</th>
        </tr>
      </thead>
      <tbody>
        {layers.map((layer) => (
          <tr key={layer.id}>
            <td>
              {layer.id} <span className="ink-3">{layer.type}</span>
            </td>
            <td>{layer.shape?.join("×") ?? ""}</td>
            <td>{layer.parameters ? cellText(layer.parameters) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isNumbers(value: unknown): value is Record<string, number | string> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
