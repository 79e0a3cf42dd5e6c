import { ReactFlowProvider } from "@xyflow/react";
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Redirect } from "wouter";
import { ApiProblem, useGraphs, useNodes } from "../api";
import { ConflictNotice } from "../drafts/ConflictNotice";
import { ImportDrop } from "../drafts/ImportDrop";
import { useKeeping } from "../drafts/use-kept";
import { useReason } from "../i18n/reasons";
import { GraphNotices } from "../notices/GraphNotices";
import { Button } from "../ui/Button";
import { Announcer } from "./Announcer";
import "./canvas.css";
import { CommandsProvider, useMadeCommands } from "./commands/use-commands";
import { useKeyboard } from "./commands/use-keyboard";
import { Dock } from "./dock/Dock";
import { catalogOf } from "./model/catalog";
import { NotAGraph } from "./model/document";
import { Notice } from "./Notice";
import { OtherRun } from "./OtherRun";
import { NodePanel } from "./panel/NodePanel";
import { Stage } from "./Stage";
import { Strip } from "./Strip";
import { type Editor, EditorContext } from "./store/editor";
import type { GraphStore } from "./store/graph-store";
import { openGraph } from "./store/open-graphs";
import { RunProvider } from "./store/run-view";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { TopBar } from "./TopBar";

// What opens only when someone asks for it comes when it is asked for.
const KeysDialog = lazy(() => import("./KeysDialog"));
const Library = lazy(() => import("./Library"));
const QueueDialog = lazy(() => import("./QueueDialog"));
const ExposeDialog = lazy(() => import("./ExposeDialog"));
const Palette = lazy(() => import("./Palette"));
const DifferenceDialog = lazy(() => import("../drafts/DifferenceDialog"));
const NameDialog = lazy(() => import("../drafts/NameDialog"));
const WireList = lazy(() => import("./WireList"));

export default function CanvasPage({ name }: { name?: string }) {
  return name === undefined ? <LastGraph /> : <OpenGraph key={name} name={name} />;
}

/** `/graphs` leads to the graph that was in front, else to the one saved last, else to a new one. */
function LastGraph() {
  const last = useView((state) => state.last);
  const { data, isError } = useGraphs();
  if (last !== null) return <Redirect to={`/graphs/${encodeURIComponent(last)}`} replace />;
  if (data === undefined && !isError) return <Waiting />;
  const name = data?.graphs[0]?.name ?? "untitled";
  return <Redirect to={`/graphs/${encodeURIComponent(name)}`} replace />;
}

function OpenGraph({ name }: { name: string }) {
  const nodes = useNodes();
  const [store, setStore] = useState<GraphStore | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens it again
  useEffect(() => {
    const abort = new AbortController();
    setProblem(null);
    openGraph(name, abort.signal).then(
      (opened) => {
        setStore(opened);
        useView.getState().showTab(name);
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setProblem(error);
      },
    );
    return () => abort.abort();
  }, [name, attempt]);
  const failure = problem ?? (nodes.data === undefined ? nodes.error : null);
  const catalog = useMemo(() => catalogOf(nodes.data?.nodes ?? []), [nodes.data]);
  const editor = useMemo(() => (store === null ? null : { store, catalog }), [store, catalog]);
  if (failure !== null) {
    return (
      <NotOpened
        problem={failure}
        onRetry={() => {
          void nodes.refetch();
          setAttempt((before) => before + 1);
        }}
      />
    );
  }
  if (editor === null || nodes.data === undefined) return <Waiting />;
  return (
    <EditorContext value={editor}>
      <ReactFlowProvider>
        <Workspace editor={editor} name={name} />
      </ReactFlowProvider>
    </EditorContext>
  );
}

function Workspace({ name }: { editor: Editor; name: string }) {
  const libraryOpen = useView((state) => state.libraryOpen);
  useEffect(() => {
    const before = document.title;
    document.title = `${name} · Codefy`;
    return () => {
      document.title = before;
    };
  }, [name]);
  return (
    <Commanded>
      <TopBar name={name} />
      <div className="work">
        {libraryOpen && (
          <Suspense>
            <Library />
          </Suspense>
        )}
        <div className="work-middle">
          <ConflictNotice />
          <GraphNotices />
          <Notice />
          <OtherRun />
          <Stage name={name} />
          <Dock />
          <Strip />
        </div>
        <NodePanel />
      </div>
      <Overlays />
      <ImportDrop />
      <Announcer />
    </Commanded>
  );
}

/** The run in front, and the commands that need to know of it. */
function Commanded({ children }: { children: ReactNode }) {
  return (
    <RunProvider>
      <WithCommands>{children}</WithCommands>
    </RunProvider>
  );
}

function WithCommands({ children }: { children: ReactNode }) {
  return <CommandsProvider value={useMadeCommands()}>{children}</CommandsProvider>;
}

/** What opens over the page, and the keys that open it. */
function Overlays() {
  useKeyboard();
  const queueOpen = useStageUi((state) => state.queueOpen);
  const keysOpen = useStageUi((state) => state.keysOpen);
  const paletteOpen = useStageUi((state) => state.paletteOpen);
  const wiring = useStageUi((state) => state.wiring);
  const exposing = useStageUi((state) => state.exposing);
  const { comparing, naming } = useKeeping((state) => state);
  return (
    <Suspense>
      {queueOpen && <QueueDialog />}
      {keysOpen && <KeysDialog />}
      {paletteOpen && <Palette />}
      {wiring !== null && <WireList key={wiring} node={wiring} />}
      {exposing !== null && <ExposeDialog {...exposing} />}
      {comparing && <DifferenceDialog />}
      {naming && <NameDialog />}
    </Suspense>
  );
}

function Waiting() {
  const { t } = useTranslation("canvas");
  return (
    <div className="app-empty ink-3" role="status">
      {t("opening")}
    </div>
  );
}

function NotOpened({ problem, onRetry }: { problem: unknown; onRetry: () => void }) {
  const { t } = useTranslation("canvas");
  const word = useReason();
  const text =
    problem instanceof NotAGraph
      ? t("notAGraph", { at: problem.at })
      : problem instanceof ApiProblem && problem.code === "unreachable"
        ? t("unreachable")
        : problem instanceof ApiProblem
          ? word(problem)
          : problem instanceof Error
            ? problem.message
            : String(problem);
  return (
    <main className="app-empty">
      <div className="empty" role="alert">
        <h2>{t("notOpened")}</h2>
        <p>{text}</p>
        <Button kind="primary" onPress={onRetry}>
          {t("retry", { ns: "common" })}
        </Button>
      </div>
    </main>
  );
}
