import { useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { categoryIcon } from "./icons";
import { findNode } from "./model/document";
import { type Entry, entriesOf } from "./model/entries";
import { byCategory, search } from "./model/search";
import { NODE_DRAG, place } from "./placing";
import { useEditor, useGraph } from "./store/editor";
import { currentLevel, documentOf, insideModule, scopeOf } from "./store/graph-store";
import { useKeptPresets } from "./store/kept-presets";
import { useView } from "./store/view";
import { focusNode } from "./use-node-keys";
import { useWords } from "./words";

/** All node types by category. Enter or a click puts one beside the selection; dragging puts it where it is dropped. */
export default function Library() {
  const { t } = useTranslation("canvas");
  const { store, catalog } = useEditor();
  const words = useWords();
  const flow = useReactFlow();
  const inside = useGraph(insideModule);
  const doc = useGraph(documentOf);
  const scope = useGraph(scopeOf);
  const kept = useKeptPresets();
  const [filter, setFilter] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const input = useRef<HTMLInputElement>(null);
  const groups = useMemo(
    () =>
      byCategory(search(entriesOf(doc, scope, catalog, kept), filter, null, inside, words.summary).fitting),
    [doc, scope, catalog, kept, filter, inside, words],
  );
  useEffect(() => input.current?.focus(), []);
  const add = (entry: Entry) => {
    const state = store.getState();
    const level = currentLevel(state);
    const beside = state.selection.at(-1);
    const node = beside === undefined ? undefined : findNode(level, beside);
    const stage = document.querySelector(".stage")?.getBoundingClientRect();
    const at =
      node === undefined
        ? flow.screenToFlowPosition({
            x: (stage?.left ?? 0) + (stage?.width ?? 0) / 2 - 90,
            y: (stage?.top ?? 0) + (stage?.height ?? 0) / 2 - 40,
          })
        : { x: node.position.x + 260, y: node.position.y };
    focusNode(place(store, entry, at, null, null));
  };
  const toggle = (category: string) =>
    setClosed((before) => {
      const next = new Set(before);
      if (!next.delete(category)) next.add(category);
      return next;
    });
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("input, [data-stop]")];
    const at = stops.indexOf(document.activeElement as HTMLElement);
    stops[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    event.preventDefault();
  };
  return (
    <aside className="library" aria-label={t("library")} onKeyDown={onKeyDown}>
      <div className="library-head">
        <h2 className="grow">{t("library")}</h2>
        <IconButton
          icon="close"
          size="s"
          label={t("closeLibrary")}
          onPress={() => useView.getState().set({ libraryOpen: false })}
        />
      </div>
      <div className="library-filter">
        <span className="field">
          <Icon name="search" />
          <input
            ref={input}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
            placeholder={t("filter")}
            aria-label={t("filter")}
            spellCheck={false}
          />
          <span className="kbd">L</span>
        </span>
      </div>
      <div className="library-tree">
        {groups.map(([category, found]) => {
          const open = filter !== "" || !closed.has(category);
          return (
            <div key={category}>
              <button
                type="button"
                data-stop
                className="library-category"
                aria-expanded={open}
                onClick={() => toggle(category)}
              >
                <Icon name={open ? "down" : "right"} className="ink-3" />
                <Icon name={categoryIcon(category)} className="ink-2" />
                <span className="grow">{words.category(category)}</span>
                <span className="ink-3 text-12">{found.length}</span>
              </button>
              {open &&
                found.map(({ entry, definition }) => (
                  <button
                    key={entry.id}
                    type="button"
                    data-stop
                    className="library-node"
                    title={words.summary(definition)}
                    draggable
                    onDragStart={(event) => {
                      event.dataTransfer.setData(NODE_DRAG, entry.id);
                      event.dataTransfer.effectAllowed = "copy";
                    }}
                    onClick={() => add(entry)}
                  >
                    <span className="grow clip">{definition.title}</span>
                    <span className="kbd">↵</span>
                  </button>
                ))}
            </div>
          );
        })}
        {groups.length === 0 && <p className="search-none">{t("noneFound", { query: filter })}</p>}
      </div>
      <p className="library-foot">{t("libraryHint")}</p>
    </aside>
  );
}
