import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, connection, liveRuns, SocketRefusal, useDisconnected } from "../api";
import { secretsOf } from "./model/secrets";
import { useEditor } from "./store/editor";
import { documentOf } from "./store/graph-store";
import { useRunView } from "./store/run-view";
import { rememberRun } from "./store/runs";
import { secretsFor } from "./store/secrets";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";
import { useWords } from "./words";

export interface RunCommands {
  /** Run the graph, or only what `untilNode` needs and itself. */
  start: (untilNode?: string) => void;
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

  const start = useCallback(
    (untilNode?: string) => {
      const state = store.getState();
      if (starting || run?.active === true) return;
      const refused = (detail: string) =>
        useStageUi.setState({ notice: { tone: "bad", text: t("notStarted"), detail } });
      if (disconnected) {
        refused(t("notConnected"));
        return;
      }
      setStarting(true);
      useStageUi.setState({ notice: null });
      const doc = documentOf(state);
      const submit = async () => {
        const secrets = await secretsFor(secretsOf(doc));
        if (secrets === null) return;
        const options = untilNode === undefined ? {} : { until_node: untilNode };
        const accepted = await liveRuns.submit(doc, options, state.name, secrets);
        rememberRun(state.name, accepted.run_id);
        store.getState().set({ runId: accepted.run_id });
      };
      submit()
        .catch((error: unknown) => {
          if (!(error instanceof SocketRefusal)) throw error;
          if (error.problems.length > 0) {
            store.getState().set({ problems: error.problems, checked: true });
            useView.getState().set({ dockOpen: true, dockTab: "problems" });
          }
          refused(words.problem(error));
        })
        .finally(() => setStarting(false));
    },
    [store, run, starting, disconnected, words, t],
  );

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
