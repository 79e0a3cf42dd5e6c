import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, connection, liveRuns, SocketRefusal, useDisconnected } from "../api";
import { useEditor } from "./store/editor";
import { documentOf } from "./store/graph-store";
import { useRunView } from "./store/run-view";
import { rememberRun } from "./store/runs";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { useWords } from "./words";

export interface RunCommands {
  start: () => void;
  stop: () => void;
  starting: boolean;
}

/** Starting and stopping the run of the graph in front. Refusals are shown where people look: a notice, and Problems. */
export function useRunCommands(): RunCommands {
  const { t } = useTranslation("canvas");
  const { store } = useEditor();
  const words = useWords();
  const run = useRunView();
  const disconnected = useDisconnected();
  const [starting, setStarting] = useState(false);

  const start = useCallback(() => {
    const state = store.getState();
    if (starting || run?.active === true) return;
    if (disconnected) {
      useStageUi.setState({ notice: { tone: "bad", text: t("notStarted"), detail: t("notConnected") } });
      return;
    }
    setStarting(true);
    useStageUi.setState({ notice: null });
    liveRuns
      .submit(documentOf(state), {}, state.name)
      .then(
        (accepted) => {
          rememberRun(state.name, accepted.run_id);
          store.getState().set({ runId: accepted.run_id });
        },
        (error: unknown) => {
          if (!(error instanceof SocketRefusal)) throw error;
          if (error.problems.length > 0) {
            store.getState().set({ problems: error.problems, checked: true });
            useView.getState().set({ dockOpen: true, dockTab: "problems" });
          }
          useStageUi.setState({
            notice: { tone: "bad", text: t("notStarted"), detail: words.problem(error) },
          });
        },
      )
      .finally(() => setStarting(false));
  }, [store, run, starting, disconnected, words, t]);

  const stop = useCallback(() => {
    if (run === null || !run.active) return;
    if (connection().state === "open" && liveRuns.stop(run.runId)) return;
    api.cancelRun(run.runId).catch((error: unknown) => {
      const detail = error instanceof Error ? error.message : "";
      useStageUi.setState({ notice: { tone: "bad", text: t("notStopped"), detail } });
    });
  }, [run, t]);

  return { start, stop, starting };
}
