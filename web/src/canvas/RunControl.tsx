import { lazy, Suspense, useEffect, useState } from "react";
import { Button as AriaButton } from "react-aria-components/Button";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useDisconnected } from "../api";
import { clockText } from "../charts/format";
import { Button, IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { useRunCommands } from "./run-commands";
import { useGraph } from "./store/editor";
import { useRunView } from "./store/run-view";
import { useSecrets } from "./store/secrets";
import { useStageUi } from "./store/stage-ui";

// Few graphs have secrets.
const SecretsDialog = lazy(() => import("./SecretsDialog"));

const WHY = "run-here-why";

/** Run here, or stop what runs; and the door to the queue. */
export function RunControl() {
  const { t } = useTranslation("canvas");
  const [, navigate] = useLocation();
  const run = useRunView();
  const { start, stop, starting } = useRunCommands();
  const disconnected = useDisconnected();
  const why = disconnected ? t("notConnected") : undefined;
  const chosen = useGraph((state) => (state.selection.length === 1 ? (state.selection[0] ?? null) : null));
  const inside = useGraph((state) => state.trail.length > 0);
  const asking = useSecrets((state) => state.question !== null);
  const queue = () => useStageUi.setState({ queueOpen: true });
  return (
    <>
      <span className="split" title={why}>
        {run?.active === true ? (
          <AriaButton className="btn run-stop" onPress={stop}>
            <Icon name="stop" filled />
            {run.row?.cancel_requested === true ? t("stopping") : t("stop")}
            <span className="mono ink-3 run-clock">
              <Elapsed since={run.startedAt} />
            </span>
          </AriaButton>
        ) : (
          <Button
            kind="primary"
            icon="play"
            iconFilled
            keys="Ctrl ↵"
            onPress={() => start()}
            isDisabled={starting || disconnected}
            aria-describedby={disconnected ? WHY : undefined}
          >
            {t("runHere")}
          </Button>
        )}
        <Button kind="primary" onPress={queue}>
          {t("queueOn")}
        </Button>
        <Menu
          label={t("moreWays")}
          entries={[
            {
              id: "here",
              label: t("runHere"),
              icon: "play",
              keys: "Ctrl ↵",
              disabled: disconnected,
              note: why,
              onAction: () => start(),
            },
            {
              id: "to-here",
              label: t("panel:runToHere"),
              icon: "target",
              disabled: disconnected || chosen === null || inside || run?.active === true,
              note:
                why ??
                (chosen === null ? t("panel:chooseNode") : inside ? t("panel:runToHereInside") : undefined),
              onAction: () => {
                if (chosen !== null) start(chosen);
              },
            },
            { id: "queue", label: t("queueOn"), icon: "runs", keys: "Ctrl Shift ↵", onAction: queue },
            {
              id: "page",
              label: t("openRunPage"),
              icon: "external",
              disabled: run === null,
              note: run === null ? t("noRunYet") : undefined,
              onAction: () => {
                if (run !== null) navigate(`/runs/${run.runId}`);
              },
            },
          ]}
        >
          <IconButton kind="primary" icon="down" label={t("moreWays")} />
        </Menu>
      </span>
      {asking && (
        <Suspense>
          <SecretsDialog />
        </Suspense>
      )}
      {disconnected && (
        <span id={WHY} className="visually-hidden">
          {why}
        </span>
      )}
    </>
  );
}

function Elapsed({ since }: { since: number | null }) {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now() / 1000), 500);
    return () => window.clearInterval(timer);
  }, []);
  return since === null ? "" : clockText(Math.max(0, now - since));
}
