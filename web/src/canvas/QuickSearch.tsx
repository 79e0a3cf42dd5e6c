import { useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { NodeDefinition } from "../api/types";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { iconOf } from "./icons";
import { type Bridge, bridge } from "./model/bridge";
import { fits } from "./model/catalog";
import { entriesOf } from "./model/entries";
import { oftenNext } from "./model/often";
import { byCategory, type Found, search, type WireInHand } from "./model/search";
import { factOf, knownShapeText } from "./model/shapes";
import { PortShape } from "./PortShape";
import { place, placeBridged } from "./placing";
import { useEditor, useGraph } from "./store/editor";
import { currentLevel, documentOf, insideModule, nodePath, scopeOf } from "./store/graph-store";
import { useKeptPresets } from "./store/kept-presets";
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
  const inside = useGraph(insideModule);
  const doc = useGraph(documentOf);
  const scope = useGraph(scopeOf);
  const level = useGraph(currentLevel);
  const flow = useReactFlow();
  const [query, setQuery] = useState("");
  const [wire, setWire] = useState(request.wire);
  const [index, setIndex] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const close = useStageUi((state) => state.closeSearch);
  const fact = useGraph((state) =>
    wire?.end === "source" ? factOf(state.shapes, nodePath(state, wire.node), wire.port) : undefined,
  );

  // Which of its ports the wire meets, once someone asked for another than the first.
  const [turn, setTurn] = useState(0);

  const kept = useKeptPresets();
  const entries = useMemo(() => entriesOf(doc, scope, catalog, kept), [doc, scope, catalog, kept]);
  const { fitting, others } = useMemo(
    () => search(entries, query, wire, inside, words.summary),
    [entries, query, wire, inside, words],
  );
  // Without a query the list reads by category, what often comes next on top; with one the best match comes first.
  const groups = useMemo((): [string | null, Found[]][] => {
    if (query.trim() !== "") return fitting.length > 0 ? [[null, fitting]] : [];
    const often = wire === null ? [] : oftenNext(doc, level, wire);
    const first = often.flatMap((type) => fitting.find((found) => found.entry.id === type) ?? []);
    const rest = byCategory(fitting.filter((found) => !first.includes(found)));
    return first.length > 0 ? [["often", first], ...rest] : rest;
  }, [query, fitting, wire, doc, level]);
  const order = groups.flatMap(([, found]) => found);
  const current = order[Math.min(index, order.length - 1)];
  const meets = current === undefined ? undefined : current.ports[turn % Math.max(1, current.ports.length)];
  const refused = useMemo(
    () =>
      wire === null ? [] : refusedOf(others, wire, query, (found) => bridgeTo(catalog, found, wire, inside)),
    [others, wire, query, catalog, inside],
  );

  // Before anything is painted: the next key belongs here.
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    const outside = (event: PointerEvent) => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) close();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [close]);

  const choose = (found: Found | undefined) => {
    if (found === undefined) return;
    const port = found === current ? meets : found.ports[0];
    const id = place(store, found.entry, placeFor(), wire, port ?? null);
    close();
    focusNode(id);
  };
  const chooseBridged = (found: Found, between: Bridge) => {
    if (wire === null) return;
    const id = placeBridged(store, found.entry, between, placeFor(), wire);
    close();
    focusNode(id);
  };
  /** Where the pointer asked for it; else beside what the wire comes from, or what is selected; else in the middle. */
  const placeFor = () => {
    if (request.at !== null) return flow.screenToFlowPosition(request.at);
    const beside = level.nodes.find((node) => node.id === (wire?.node ?? store.getState().selection.at(-1)));
    if (beside !== undefined) {
      return { x: beside.position.x + (wire?.end === "target" ? -260 : 260), y: beside.position.y };
    }
    const stage = box.current?.parentElement?.getBoundingClientRect();
    return flow.screenToFlowPosition({
      x: (stage?.left ?? 0) + (stage?.width ?? 0) / 2 - 90,
      y: (stage?.top ?? 0) + (stage?.height ?? 0) / 2 - 40,
    });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      setIndex((before) =>
        order.length === 0 ? 0 : (Math.min(before, order.length - 1) + step + order.length) % order.length,
      );
      setTurn(0);
    } else if (event.key === "Tab") {
      setTurn((before) => before + (event.shiftKey ? -1 + (current?.ports.length ?? 1) : 1));
    } else if (event.altKey && event.key.toLowerCase() === "a") {
      setWire(null);
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

  const title = (category: string | null) =>
    category === null ? t("found") : category === "often" ? t("editor:oftenNext") : words.category(category);

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
            setTurn(0);
          }}
          placeholder={t("searchNodes")}
          aria-label={t("searchNodes")}
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={current === undefined ? undefined : `${listId}-${current.entry.id}`}
          autoComplete="off"
          spellCheck={false}
        />
        {wire !== null && (
          <button type="button" className="chip" onClick={() => setWire(null)} aria-label={t("anyType")}>
            <PortShape type={wire.type} filled size={12} />
            {t(wire.end === "source" ? "takes" : "gives", {
              type: t(`type.${wire.type}`, { defaultValue: wire.type }),
            })}
            {fact !== undefined && <span className="mono">{knownShapeText(fact.shape)}</span>}
            <Icon name="close" size={12} />
          </button>
        )}
      </div>
      <div className="search-body">
        <div className="search-list" id={listId} role="listbox" aria-label={t("searchNodes")}>
          {groups.map(([category, found]) => (
            // biome-ignore lint/a11y/useSemanticElements: options of a listbox are grouped by role
            <div key={category ?? ""} role="group" aria-label={title(category)}>
              {category !== null && <p className="search-group">{title(category)}</p>}
              {found.map((entry) => (
                <Option
                  key={entry.entry.id}
                  id={`${listId}-${entry.entry.id}`}
                  entry={entry}
                  current={entry === current}
                  summary={words.summary(entry.definition)}
                  onPoint={() => {
                    if (entry === current) return;
                    setIndex(order.indexOf(entry));
                    setTurn(0);
                  }}
                  onChoose={() => choose(entry)}
                />
              ))}
            </div>
          ))}
          {order.length === 0 && <p className="search-none">{t("noneFound", { query })}</p>}
          {refused.length > 0 && (
            <div className="search-others">
              <p className="search-group">{t("doesNotFit")}</p>
              {refused.map(({ found, between }) => (
                <div key={found.entry.id} className="search-refused">
                  <p className="row">
                    <Icon name={iconOf(found.definition)} className="ink-3" />
                    <span className="ink-2 grow clip">{found.definition.title}</span>
                    {between !== null && (
                      <Button size="s" onPress={() => chooseBridged(found, between)}>
                        {t("editor:addWith", { title: between.entry.definition.title })}
                      </Button>
                    )}
                  </p>
                  <p className="text-12 ink-3">
                    {t(wire?.end === "source" ? "takesNo" : "givesNo", {
                      type: t(`type.${wire?.type}`, { defaultValue: wire?.type }),
                    })}
                  </p>
                </div>
              ))}
            </div>
          )}
        </div>
        {current !== undefined && (
          <About definition={current.definition} meets={wire === null ? undefined : meets} end={wire?.end} />
        )}
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
        {current !== undefined && current.ports.length > 1 && (
          <span className="row">
            <span className="kbd">Tab</span>
            {t("editor:otherPort")}
          </span>
        )}
        <span className="grow" />
        {wire === null ? (
          <span className="row">
            <span className="kbd">Esc</span>
            {t("close", { ns: "common" })}
          </span>
        ) : (
          <button type="button" className="link row" onClick={() => setWire(null)}>
            <span className="kbd">Alt A</span>
            {t("editor:allNodes", { count: entries.length })}
          </button>
        )}
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

interface AboutProps {
  definition: NodeDefinition;
  /** The port that the wire in hand would meet. */
  meets: string | undefined;
  end: WireInHand["end"] | undefined;
}

function About({ definition, meets, end }: AboutProps) {
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
      <PortList title={t("inputs")} ports={definition.inputs} meets={end === "source" ? meets : undefined} />
      <PortList
        title={t("outputs")}
        ports={definition.outputs}
        meets={end === "target" ? meets : undefined}
      />
    </div>
  );
}

interface PortListProps {
  title: string;
  ports: NodeDefinition["inputs"];
  meets: string | undefined;
}

function PortList({ title, ports, meets }: PortListProps) {
  const { t } = useTranslation("canvas");
  if (ports.length === 0) return null;
  return (
    <div>
      <p className="text-11 ink-3">{title}</p>
      {ports.map((port) => (
        <p key={port.name} className={`row text-12${port.name === meets ? " search-meets" : ""}`}>
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

interface Refused {
  found: Found;
  between: Bridge | null;
}

/** What the query finds and the wire does not fit, those first that a node between would help. */
function refusedOf(
  others: readonly Found[],
  wire: WireInHand,
  query: string,
  between: (found: Found) => Bridge | null,
): Refused[] {
  // Without a query only what has the other side of a wire at all is worth reading.
  const some =
    query.trim() === ""
      ? others.filter(
          ({ definition }) => (wire.end === "source" ? definition.inputs : definition.outputs).length > 0,
        )
      : others;
  const asked = some.slice(0, MOST_REFUSED * 3).map((found) => ({ found, between: between(found) }));
  return asked.sort((a, b) => Number(a.between === null) - Number(b.between === null)).slice(0, MOST_REFUSED);
}

const MOST_REFUSED = 4;

function bridgeTo(
  catalog: Parameters<typeof bridge>[0],
  found: Found,
  wire: WireInHand,
  inside: boolean,
): Bridge | null {
  if (wire.end === "target") return null;
  for (const port of found.definition.inputs) {
    if (fits(wire.type, port.type) || port.type === wire.type) continue;
    const between = bridge(catalog, wire.type, port.type, inside);
    if (between !== null && between.entry.id !== found.entry.id) return between;
  }
  return null;
}

function position(request: SearchRequest): React.CSSProperties {
  if (request.at === null) return { left: "50%", top: 64, transform: "translateX(-50%)" };
  const x = Math.max(8, Math.min(request.at.x + 8, window.innerWidth - WIDTH - 16));
  const y = Math.max(8, Math.min(request.at.y + 8, window.innerHeight - HEIGHT - 16));
  return { position: "fixed", left: x, top: y };
}
