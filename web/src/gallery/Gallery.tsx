import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { ApiProblem, type ExampleSummary, useExample, useExamples, useNodes } from "../api";
import { useReason } from "../i18n/reasons";
import { Button, buttonClass } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { inOrder, TOPICS, type Topic, topicsOf } from "./examples";
import { GraphSketch } from "./GraphSketch";
import "./gallery.css";
import { keyTypes } from "./sketch";

/** How many are shown before somebody asks for all. */
const FIRST = 6;
const KEY_TYPES = 4;

/** The examples that ship with Codefy, each with a picture of its graph and what it teaches. */
export function Gallery() {
  const { t } = useTranslation("home");
  const word = useReason();
  const { data, isPending, isError, error } = useExamples();
  const [topic, setTopic] = useState<Topic | null>(null);
  const [all, setAll] = useState(false);
  const examples = inOrder(data?.examples ?? []);
  const fitting = topic === null ? examples : examples.filter((one) => topicsOf(one.name).includes(topic));
  const shown = all || topic !== null ? fitting : fitting.slice(0, FIRST);
  return (
    <section aria-labelledby="home-examples">
      <div className="home-section-head">
        <h2 id="home-examples">{t("examples")}</h2>
        <span className="text-12 ink-3">{t("examplesText")}</span>
      </div>
      {isPending && (
        <p className="ink-3" role="status">
          {t("common:loading")}
        </p>
      )}
      {isError && (
        <p className="note bad" role="alert">
          <Icon name="warning" />
          {error instanceof ApiProblem && error.status === 401 ? word(error) : t("examplesFailed")}
        </p>
      )}
      {examples.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields of a form
        <div className="gallery-topics" role="group" aria-label={t("topics")}>
          {[null, ...TOPICS].map((one) => (
            <button
              key={one ?? "all"}
              type="button"
              className="chip"
              aria-pressed={topic === one}
              onClick={() => setTopic(one)}
            >
              {t(`topic.${one ?? "all"}`)}
              <span className="n">
                {one === null
                  ? examples.length
                  : examples.filter((example) => topicsOf(example.name).includes(one)).length}
              </span>
            </button>
          ))}
        </div>
      )}
      <div className="home-cards">
        {shown.map((example, i) => (
          <ExampleCard key={example.name} example={example} first={i === 0} />
        ))}
      </div>
      {shown.length < fitting.length && (
        <Button className="gallery-more" onPress={() => setAll(true)}>
          {t("showAll", { count: fitting.length })}
        </Button>
      )}
    </section>
  );
}

/** The first one is where a new user starts: it has the page's primary button. */
function ExampleCard({ example, first }: { example: ExampleSummary; first: boolean }) {
  const { t } = useTranslation("home");
  const title = t(`example.${example.name}.title`, { defaultValue: example.title });
  return (
    <article className="card home-card" aria-label={title}>
      <GraphSketch name={example.name} />
      <div className="home-card-body">
        <h3>{title}</h3>
        <p className="text-12 ink-2">
          {t(`example.${example.name}.text`, { defaultValue: example.description })}
        </p>
        <KeyTypes name={example.name} />
        <div className="row">
          <Link
            className={buttonClass(first ? "primary" : "plain")}
            href={`/graphs/${encodeURIComponent(example.name)}`}
            aria-label={t("openNamed", { title })}
          >
            {t("open")}
          </Link>
          <span className="text-12 ink-3 clip">
            {example.name}, {t("nodes", { count: example.node_count })}
          </span>
        </div>
      </div>
    </article>
  );
}

/** The nodes and layers that one meets here and not everywhere. */
function KeyTypes({ name }: { name: string }) {
  const { t } = useTranslation("home");
  const { data } = useExample(name);
  const nodes = useNodes();
  const titles = useMemo(
    () => new Map(nodes.data?.nodes.map((node) => [node.type, node.title])),
    [nodes.data],
  );
  const types = useMemo(() => keyTypes(data?.graph, KEY_TYPES), [data]);
  return (
    <ul className="gallery-types" aria-label={t("uses")}>
      {types.map((type) => (
        <li key={type} className="tag">
          {titles.get(type) ?? type}
        </li>
      ))}
    </ul>
  );
}
