import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { tickText } from "../charts/format";
import { Segmented } from "../ui/Segmented";
import { Select } from "../ui/Select";
import { useGradient, useSteps } from "./hooks";
import { Statistics } from "./Statistics";
import { Drawn, IndexFields } from "./Tensor";
import { FACTS, type Fact, type Kind, MOST_LINES, traceLines } from "./traces";
import type { TraceInfo } from "./types";

const Chart = lazy(async () => ({ default: (await import("../charts/Chart")).Chart }));

interface Props {
  runId: string;
  info: TraceInfo;
  live: boolean;
}

/** What went on inside a node from step to step: activations by layer, gradients by parameter. */
export function StepsView({ runId, info, live }: Props) {
  const { t } = useTranslation("inspector");
  const { data, error } = useSteps(runId, info.node_id, live);
  const [kind, setKind] = useState<Kind>(info.values.length > 0 ? "values" : "gradients");
  const [fact, setFact] = useState<Fact>("norm");
  const [first, setFirst] = useState(0);
  const all = kind === "values" ? info.values : info.gradients;
  const names = all.slice(first, first + MOST_LINES);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names are a part of `all`
  const lines = useMemo(
    () => (data === undefined ? [] : traceLines(data, kind, fact, names)),
    [data, kind, fact, names.join()],
  );
  if (error !== null) return <p className="text-12 ink-3">{t("gone")}</p>;
  if (data === undefined) return <p className="text-12 ink-3">{t("reading")}</p>;
  return (
    <div className="steps-view">
      <div className="steps-controls">
        {info.values.length > 0 && info.gradients.length > 0 && (
          <Segmented
            label={t("traceKind")}
            small
            value={kind}
            options={[
              { id: "values", label: t("activations") },
              { id: "gradients", label: t("gradients") },
            ]}
            onChange={(next) => {
              setKind(next);
              setFirst(0);
            }}
          />
        )}
        <Select
          label={t("traceFact")}
          options={FACTS.map((id) => ({ id, label: t(`fact.${id}`) }))}
          value={fact}
          onChange={(id) => setFact(id as Fact)}
        />
        {all.length > MOST_LINES && (
          <Select
            label={t("traceWhich")}
            options={pages(all).map((from) => ({
              id: String(from),
              label: `${all[from]} … ${all[Math.min(all.length, from + MOST_LINES) - 1]}`,
            }))}
            value={String(first)}
            onChange={(id) => setFirst(Number(id))}
          />
        )}
      </div>
      <Suspense>
        <Chart
          className="steps-chart"
          title={t(`fact.${fact}`)}
          lines={lines}
          xName={t("charts:at.step")}
          xText={tickText}
        />
      </Suspense>
      {kind === "gradients" && info.whole_gradients.length > 0 && (
        <LastGradient runId={runId} info={info} live={live} />
      )}
      {info.left_out > 0 && <p className="text-12 ink-3">{t("leftOut", { count: info.left_out })}</p>}
    </div>
  );
}

function pages(names: readonly string[]): number[] {
  return Array.from({ length: Math.ceil(names.length / MOST_LINES) }, (_, page) => page * MOST_LINES);
}

/** The last gradient of one parameter, number by number. */
function LastGradient({ runId, info, live }: Props) {
  const { t } = useTranslation("inspector");
  const [parameter, setParameter] = useState(info.whole_gradients[0] ?? "");
  const [at, setAt] = useState<{ index: readonly number[]; start: readonly [number, number] }>({
    index: [],
    start: [0, 0],
  });
  const { data } = useGradient(
    runId,
    info.node_id,
    parameter,
    { index: at.index, start: at.start, size: [12, 12] },
    live,
  );
  const shape = data?.part.shape ?? [];
  return (
    <section className="output-view">
      <div className="output-about">
        <Select
          label={t("parameter")}
          options={info.whole_gradients.map((id) => ({ id, label: id }))}
          value={parameter}
          onChange={(id) => {
            setParameter(id);
            setAt({ index: [], start: [0, 0] });
          }}
        />
        {data !== undefined && <Statistics facts={data.statistics} name={parameter} />}
      </div>
      {data !== undefined && (
        <div className="tensor">
          <IndexFields
            sizes={shape.slice(0, -2)}
            index={shape.slice(0, -2).map((_, depth) => at.index[depth] ?? 0)}
            onChange={(index) => setAt({ ...at, index })}
          />
          <Drawn
            slice={data.part}
            drawing="values"
            name={parameter}
            onMove={(start) => setAt({ ...at, start })}
          />
        </div>
      )}
    </section>
  );
}
