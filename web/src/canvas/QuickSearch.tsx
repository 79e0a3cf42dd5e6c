import { useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { NodeDefinition } from "../api/types";
import { Icon } from "../ui/Icon";
import { iconOf } from "./icons";
import { byCategory, type Found, search } from "./model/search";
import { PortShape } from "./PortShape";
import { place } from "./placing";
import { useEditor, useGraph } from "./store/editor";
import { type SearchRequest, useStageUi } from "./store/stage-ui";
import { focusNode } from "./use-node-keys";
import { useWords } from "./words";

const WIDTH = 560;
const HEIGHT = 430;

/** Finds a node type by a few letters and puts it on the canvas, wired if a wire was in hand. */
export function QuickSearch({ request }: { request: SearchRequest }) {
  const { t } = useTranslation("canvas");
  const { store, catalog } = useEditor();
  const words = useWords();
  const inside = useGraph((state) => state.trail.length > 0);
  const flow = useReactFlow();
  const [query, setQuery] = useState("");
  const [wire, setWire] = useState(request.wire);
  const [index, setIndex] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const close = useStageUi((state) => state.closeSearch);

  const { fitting, others } = useMemo(
    () => search([...catalog.values()], query, wire, inside),
    [catalog, query, wire, inside],
  );
  // Without a query the list reads by category; with one the best match comes first.
  const groups: [string | null, Found[]][] =
    query.trim() === "" ? byCategory(fitting) : fitting.length > 0 ? [[null, fitting]] : [];
  const order = groups.flatMap(([, found]) => found);
  const current = order[Math.min(index, order.length - 1)];

  useEffect(() => {
    input.current?.focus();
    const outside = (event: PointerEvent) => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) close();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [close]);

  const choose = (found: Found | undefined) => {
    if (found === undefined) return;
    const stage = box.current?.parentElement?.getBoundingClientRect();
    const at = request.at ?? {
      x: (stage?.left ?? 0) + (stage?.width ?? 0) / 2 - 90,
      y: (stage?.top ?? 0) + (stage?.height ?? 0) / 2 - 40,
    };
    const id = place(store, found.definition, flow.screenToFlowPosition(at), wire, found.port);
    close();
    focusNode(id);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      setIndex((before) =>
        order.length === 0 ? 0 : (Math.min(before, order.length - 1) + step + order.length) % order.length,
      );
    } else if (event.key === "Enter") {
      choose(current);
    } else if (event.key === "Escape") {
      close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={box}
      className="search"
      style={position(request)}
      onKeyDown={onKeyDown}
      role="dialog"
      aria-label={t("searchNodes")}
    >
      <div className="search-head">
        <Icon name="search" className="ink-3" />
        <input
          ref={input}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setIndex(0);
          }}
          placeholder={t("searchNodes")}
          aria-label={t("searchNodes")}
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={current === undefined ? undefined : `${listId}-${current.definition.type}`}
          autoComplete="off"
          spellCheck={false}
        />
        {wire !== null && (
          <button type="button" className="chip" onClick={() => setWire(null)} aria-label={t("anyType")}>
            <PortShape type={wire.type} filled size={12} />
            {t(wire.end === "source" ? "takes" : "gives", { type: wire.type })}
            <Icon name="close" size={12} />
          </button>
        )}
      </div>
      <div className="search-body">
        <div className="search-list" id={listId} role="listbox" aria-label={t("searchNodes")}>
          {groups.map(([category, found]) => (
            // biome-ignore lint/a11y/useSemanticElements: options of a listbox are grouped by role
            <div
              key={category ?? ""}
              role="group"
              aria-label={category === null ? t("found") : words.category(category)}
            >
              {category !== null && <p className="search-group">{words.category(category)}</p>}
              {found.map((entry) => (
                <Option
                  key={entry.definition.type}
                  id={`${listId}-${entry.definition.type}`}
                  entry={entry}
                  current={entry === current}
                  summary={words.summary(entry.definition)}
                  onPoint={() => setIndex(order.indexOf(entry))}
                  onChoose={() => choose(entry)}
                />
              ))}
            </div>
          ))}
          {order.length === 0 && <p className="search-none">{t("noneFound", { query })}</p>}
          {others.length > 0 && query.trim() !== "" && (
            <div className="search-others">
              <p className="search-group">{t("doesNotFit")}</p>
              {others.slice(0, 4).map(({ definition }) => (
                <p key={definition.type} className="row text-12 ink-3">
                  <Icon name={iconOf(definition)} />
                  <span className="ink-2">{definition.title}</span>
                  <span className="clip">
                    {wire?.end === "source"
                      ? t("takesNo", { type: wire.type })
                      : t("givesNo", { type: wire?.type })}
                  </span>
                </p>
              ))}
            </div>
          )}
        </div>
        {current !== undefined && <About definition={current.definition} />}
      </div>
      <div className="search-foot">
        <span className="row">
          <span className="kbd">↑</span>
          <span className="kbd">↓</span>
          {t("choose")}
        </span>
        <span className="row">
          <span className="kbd">↵</span>
          {wire === null ? t("add") : t("addAndConnect")}
        </span>
        <span className="row">
          <span className="kbd">Esc</span>
          {t("close", { ns: "common" })}
        </span>
      </div>
    </div>
  );
}

interface OptionProps {
  id: string;
  entry: Found;
  current: boolean;
  summary: string;
  onPoint: () => void;
  onChoose: () => void;
}

function Option({ id, entry, current, summary, onPoint, onChoose }: OptionProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (current) element.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the combobox
    <div
      ref={element}
      id={id}
      className="search-option"
      role="option"
      aria-selected={current}
      onPointerMove={onPoint}
      onClick={onChoose}
    >
      <Icon name={iconOf(entry.definition)} className="ink-2" />
      <span className="search-title">{entry.definition.title}</span>
      <span className="text-12 ink-3 clip grow">{summary}</span>
      {current && <span className="kbd">↵</span>}
    </div>
  );
}

function About({ definition }: { definition: NodeDefinition }) {
  const { t } = useTranslation("canvas");
  const words = useWords();
  return (
    <div className="search-about">
      <div className="row">
        <Icon name={iconOf(definition)} className="ink-2" />
        <h2 className="grow clip">{definition.title}</h2>
        <span className="tag">{words.category(definition.category)}</span>
      </div>
      <p className="text-12 ink-2">{words.summary(definition)}</p>
      <PortList title={t("inputs")} ports={definition.inputs} />
      <PortList title={t("outputs")} ports={definition.outputs} />
    </div>
  );
}

function PortList({ title, ports }: { title: string; ports: NodeDefinition["inputs"] }) {
  const { t } = useTranslation("canvas");
  if (ports.length === 0) return null;
  return (
    <div>
      <p className="text-11 ink-3">{title}</p>
      {ports.map((port) => (
        <p key={port.name} className="row text-12">
          <PortShape type={port.type} filled size={12} />
          {port.name.replaceAll("_", " ")}
          <span className="ink-3 grow num">
            {t(`type.${port.type}`, { defaultValue: port.type })}
            {port.required === false ? t("optionalMark") : ""}
          </span>
        </p>
      ))}
    </div>
  );
}

function position(request: SearchRequest): React.CSSProperties {
  if (request.at === null) return { left: "50%", top: 64, transform: "translateX(-50%)" };
  const x = Math.max(8, Math.min(request.at.x + 8, window.innerWidth - WIDTH - 16));
  const y = Math.max(8, Math.min(request.at.y + 8, window.innerHeight - HEIGHT - 16));
  return { position: "fixed", left: x, top: y };
}
