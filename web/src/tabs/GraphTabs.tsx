import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import { api } from "../api";
import { useGraph } from "../canvas/store/editor";
import { closeGraph } from "../canvas/store/open-graphs";
import { useRunView } from "../canvas/store/run-view";
import { useView } from "../canvas/store/view";
import { untitledName } from "../drafts/start";
import { keeping } from "../drafts/use-kept";
import { notices } from "../notices/notices";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { GraphMenu } from "./GraphMenu";
import "./tabs.css";
import { moveTab, takeTab } from "./tabs";

/** How long a closed graph is kept as it was, with all that can be undone. */
const REOPEN_MS = 30_000;
const DRAG = "application/x-codefy-tab";

const closing = new Map<string, number>();

/** A name that neither this page nor the server has. */
async function freshName(tabs: readonly string[]): Promise<string> {
  try {
    const { graphs, drafts } = await api.graphs();
    return untitledName([...tabs, ...[...graphs, ...(drafts ?? [])].map((graph) => graph.name)]);
  } catch {
    // Without the server the graph is kept in this browser and finds its place later.
    return untitledName(tabs);
  }
}

/** The open graphs: open, close (which can be undone), reorder, rename, new. */
export function GraphTabs({ name }: { name: string }) {
  const { t } = useTranslation("drafts");
  const [, navigate] = useLocation();
  const tabs = useView((state) => state.tabs);
  const run = useRunView();
  const save = useGraph((state) => state.save);
  const [target, setTarget] = useState<number | null>(null);
  const front = useRef<HTMLSpanElement>(null);
  const shown = tabs.includes(name) ? tabs : [...tabs, name];
  useEffect(() => {
    window.clearTimeout(closing.get(name));
    closing.delete(name);
    front.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [name]);

  const address = (tab: string | null) => (tab === null ? "/" : `/graphs/${encodeURIComponent(tab)}`);
  const close = (tab: string) => {
    const at = takeTab(tab);
    closing.set(
      tab,
      window.setTimeout(() => {
        closing.delete(tab);
        void closeGraph(tab);
      }, REOPEN_MS),
    );
    notices.show({
      tone: "live",
      text: "drafts:closed",
      params: { name: tab },
      action: {
        label: "drafts:reopen",
        run: () => {
          moveTab(tab, at);
          navigate(address(tab));
        },
      },
    });
    if (tab === name) navigate(address(useView.getState().last));
  };
  const step = (tab: string, by: number) => moveTab(tab, shown.indexOf(tab) + by);
  return (
    <nav className="graph-tabs" aria-label={t("openGraphs")}>
      <span className="graph-tabs-row">
        {shown.map((tab, at) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: dragging is one way to reorder; Alt with an arrow is the other
          <span
            key={tab}
            ref={tab === name ? front : undefined}
            className={`graph-tab${tab === name ? " on" : ""}${target === at ? " drop" : ""}`}
            draggable
            onDragStart={(event) => {
              event.dataTransfer.setData(DRAG, tab);
              event.dataTransfer.effectAllowed = "move";
            }}
            onDragOver={(event) => {
              if (!event.dataTransfer.types.includes(DRAG)) return;
              event.preventDefault();
              setTarget(at);
            }}
            onDragLeave={() => setTarget(null)}
            onDragEnd={() => setTarget(null)}
            onDrop={(event) => {
              const moved = event.dataTransfer.getData(DRAG);
              setTarget(null);
              if (moved === "") return;
              event.preventDefault();
              moveTab(moved, at);
            }}
            onAuxClick={(event) => {
              if (event.button === 1) close(tab);
            }}
          >
            <Link
              href={address(tab)}
              draggable={false}
              aria-current={tab === name ? "page" : undefined}
              aria-keyshortcuts="Alt+ArrowLeft Alt+ArrowRight Delete F2"
              title={tab}
              onDoubleClick={() => {
                if (tab === name) keeping.setState({ naming: true });
              }}
              onKeyDown={(event) => {
                const arrow = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
                if (event.altKey && arrow !== undefined) step(tab, arrow);
                else if (event.key === "Delete") close(tab);
                else if (event.key === "F2" && tab === name) keeping.setState({ naming: true });
                else return;
                event.preventDefault();
                event.stopPropagation();
              }}
            >
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
                  <span className="graph-tab-dot" role="img" aria-label={t("notSavedMark")} />
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
      </span>
      <IconButton
        icon="plus"
        label={t("newGraph")}
        onPress={() => void freshName(shown).then((fresh) => navigate(address(fresh)))}
      />
      <GraphMenu name={name} onClose={() => close(name)} />
    </nav>
  );
}
