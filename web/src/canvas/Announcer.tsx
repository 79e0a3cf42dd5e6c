import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLive } from "../api";
import { findNode, nodeTitle } from "./model/document";
import { useEditor } from "./store/editor";
import { documentOf } from "./store/graph-store";
import { useRunView } from "./store/run-view";

/** Screen readers hear of changes at most this often. */
const EVERY_MS = 5_000;

/** Tells screen readers, politely, which nodes began, ended or failed. */
export function Announcer() {
  const { t } = useTranslation("editor");
  const { store, catalog } = useEditor();
  const run = useRunView();
  const nodes = useLive(run?.runId ?? null, (live) => live?.nodes);
  const [text, setText] = useState("");
  const told = useRef<{ run: string | null; states: ReadonlyMap<string, string> }>({
    run: null,
    states: new Map(),
  });
  const last = useRef(0);
  useEffect(() => {
    const id = run?.runId ?? null;
    const now = new Map(Object.entries(nodes ?? {}).map(([path, node]) => [path, node.status as string]));
    // What had happened before the run was opened is no news.
    if (told.current.run !== id || (told.current.states.size === 0 && run?.active !== true)) {
      told.current = { run: id, states: now };
      return;
    }
    const tell = () => {
      const news = [...now].filter(([path, state]) => told.current.states.get(path) !== state);
      told.current = { run: id, states: now };
      if (news.length === 0) return;
      last.current = Date.now();
      const doc = documentOf(store.getState());
      setText(
        news
          .slice(-MOST)
          .map(([path, state]) => {
            const node = findNode(doc, path);
            const title = node === undefined ? path : nodeTitle(node, catalog.get(node.type)?.title);
            return t("nodeBecame", { title, state: t(`common:state.${state}`) });
          })
          .join(" "),
      );
    };
    const timer = window.setTimeout(tell, Math.max(0, last.current + EVERY_MS - Date.now()));
    return () => window.clearTimeout(timer);
  }, [run, nodes, store, catalog, t]);
  return (
    <p className="visually-hidden" role="status" aria-live="polite">
      {text}
    </p>
  );
}

/** Of many changes the latest are told. */
const MOST = 4;
