import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { RunControl } from "./RunControl";
import { useEditor, useGraph } from "./store/editor";
import { closeGraph } from "./store/open-graphs";
import { useRunView } from "./store/run-view";
import { useView } from "./store/view";

export function TopBar({ name }: { name: string }) {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const canUndo = useGraph((state) => state.history.past.length > 0);
  const canRedo = useGraph((state) => state.history.future.length > 0);
  return (
    <header className="topbar">
      <GraphTabs name={name} />
      <span className="grow" />
      <span className="row topbar-history">
        <IconButton
          icon="undo"
          label={t("undo")}
          keys="Ctrl Z"
          isDisabled={!canUndo}
          onPress={() => store.getState().undo()}
        />
        <IconButton
          icon="redo"
          label={t("redo")}
          keys="Ctrl Shift Z"
          isDisabled={!canRedo}
          onPress={() => store.getState().redo()}
        />
      </span>
      <RunControl />
    </header>
  );
}

function GraphTabs({ name }: { name: string }) {
  const { t } = useTranslation("canvas");
  const [, navigate] = useLocation();
  const tabs = useView((state) => state.tabs);
  const run = useRunView();
  const save = useGraph((state) => state.save);
  const shown = tabs.includes(name) ? tabs : [...tabs, name];
  const close = (tab: string) => {
    useView.getState().closeTab(tab);
    void closeGraph(tab);
    if (tab !== name) return;
    const next = useView.getState().last;
    navigate(next === null ? "/graphs" : `/graphs/${encodeURIComponent(next)}`);
  };
  return (
    <nav className="graph-tabs" aria-label={t("openGraphs")}>
      {shown.map((tab) => (
        <span key={tab} className={`graph-tab${tab === name ? " on" : ""}`}>
          <Link href={`/graphs/${encodeURIComponent(tab)}`} aria-current={tab === name ? "page" : undefined}>
            {tab === name && run?.active === true ? (
              <span className="live">
                <Icon
                  name={run.state === "queued" ? "queued" : "running"}
                  label={t(`state.${run.state}`, { ns: "common" })}
                />
              </span>
            ) : (
              tab === name &&
              (save === "failed" || save === "conflict") && (
                <span className="graph-tab-dot" role="img" aria-label={t("notSaved")} />
              )
            )}
            <span className="clip">{tab}</span>
          </Link>
          <button
            type="button"
            className="graph-tab-close"
            aria-label={t("closeGraph", { name: tab })}
            onClick={() => close(tab)}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <IconButton icon="plus" label={t("newGraph")} onPress={() => navigate(`/graphs/${freshName(shown)}`)} />
    </nav>
  );
}

/** A name that no open graph has. */
export function freshName(taken: readonly string[]): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? "untitled" : `untitled-${count}`;
    if (!taken.includes(name)) return name;
  }
}
