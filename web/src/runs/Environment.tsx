import { useTranslation } from "react-i18next";
import type { RunDetail } from "../api";
import { useFormat } from "../i18n/format";
import { factText } from "./facts";

/** Where the run ran and what was asked for, in full. */
export function Environment({ run }: { run: RunDetail }) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const label = (name: string) => t(`fact.${name}`, { defaultValue: name.replaceAll("_", " ") });
  const peaks = Object.entries(run.peak_memory?.devices ?? {});
  const where: [string, string][] = [
    [label("device"), run.devices?.join(", ") || (run.device ?? "")],
    ...Object.entries(run.execution_facts ?? {}).map(([name, value]): [string, string] => [
      label(name),
      factText(value),
    ]),
    ...peaks.map(([device, bytes]): [string, string] => [`${label("peak")} ${device}`, format.memory(bytes)]),
  ];
  const options: [string, string][] = Object.entries(run.options).map(([name, value]) => [
    name.replaceAll("_", " "),
    factText(value),
  ]);
  const times: [string, string][] = [
    [label("run"), run.run_id],
    [label("hash"), run.graph_hash],
    [label("submitted"), format.moment(run.created_at)],
    ...(run.started_at == null
      ? []
      : [[label("started"), format.moment(run.started_at)] as [string, string]]),
    ...(run.ended_at == null ? [] : [[label("ended"), format.moment(run.ended_at)] as [string, string]]),
    ["lane", run.lane],
    ["queue", run.queue_key],
  ].map(([name, value]): [string, string] => [
    name === "lane" || name === "queue" ? label(name) : (name as string),
    value as string,
  ]);
  return (
    <div className="run-environment">
      <Pairs title={t("environment")} pairs={where} />
      <Pairs title={t("factsTitle")} pairs={times} />
      {options.length > 0 && <Pairs title={t("options")} pairs={options} />}
    </div>
  );
}

function Pairs({ title, pairs }: { title: string; pairs: readonly [string, string][] }) {
  return (
    <section className="card" aria-label={title}>
      <div className="card-head">{title}</div>
      <dl className="facts">
        {pairs.map(([name, value]) => (
          <div className="fact-pair" key={name}>
            <dt>{name}</dt>
            <dd title={value}>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
