import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { type RunSummary, useCancelRun } from "../api";
import { useFormat } from "../i18n/format";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { tookSeconds } from "./run-words";

/** A run that took longer so far is worth a question. */
const ASK_AFTER_S = 60;

interface Cancel {
  /** Cancel the run, after a question where much would be lost. */
  ask: () => void;
  pending: boolean;
  error: Error | null;
  dialog: ReactNode;
}

export function useCancel(run: RunSummary): Cancel {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const cancel = useCancelRun();
  const [asked, setAsked] = useState<number | null>(null);
  const ask = () => {
    const took = tookSeconds(run, Date.now() / 1000);
    if (took !== null && took > ASK_AFTER_S) setAsked(took);
    else cancel.mutate(run.run_id);
  };
  const dialog = asked !== null && (
    <Dialog
      title={t("cancelTitle", { number: run.number })}
      open
      onClose={() => setAsked(null)}
      width={420}
      foot={
        <>
          <span className="grow" />
          <Button onPress={() => setAsked(null)}>{t("keepRunning")}</Button>
          <Button
            kind="danger"
            onPress={() => {
              setAsked(null);
              cancel.mutate(run.run_id);
            }}
          >
            {t("cancel")}
          </Button>
        </>
      }
    >
      <p>{t("cancelText", { time: format.duration(asked) })}</p>
    </Dialog>
  );
  return { ask, pending: cancel.isPending, error: cancel.error, dialog };
}
