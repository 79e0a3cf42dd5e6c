import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { ApiProblem, api, keys } from "../api";
import { useEditor } from "../canvas/store/editor";
import { documentOf } from "../canvas/store/graph-store";
import { deleteGraph } from "../canvas/store/open-graphs";
import { useView } from "../canvas/store/view";
import { useReason } from "../i18n/reasons";
import { notices } from "../notices/notices";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { takeTab } from "./tabs";

/** Asks before a graph is deleted; it can be had back for as long as the notice stands. */
export default function DeleteDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation("drafts");
  const word = useReason();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const { store } = useEditor();
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async () => {
    const doc = documentOf(store.getState());
    try {
      await deleteGraph(name);
    } catch (error) {
      setProblem(error instanceof ApiProblem ? word(error) : String(error));
      return;
    }
    takeTab(name);
    onClose();
    void client.invalidateQueries({ queryKey: keys.graphs });
    notices.show({
      tone: "live",
      text: "drafts:deleted",
      params: { name },
      stays: true,
      action: {
        label: "drafts:bringBack",
        run: () => {
          api.saveGraph(name, doc, 0).then(
            () => {
              void client.invalidateQueries({ queryKey: keys.graphs });
              navigate(`/graphs/${encodeURIComponent(name)}`);
            },
            (error: unknown) => {
              const said = error instanceof ApiProblem ? word(error) : String(error);
              notices.show({ tone: "bad", text: "drafts:notBrought", params: { name }, said });
            },
          );
        },
      },
    });
    const next = useView.getState().last;
    navigate(next === null ? "/" : `/graphs/${encodeURIComponent(next)}`);
  };
  return (
    <Dialog
      title={t("deleteTitle", { name })}
      open
      onClose={onClose}
      width={420}
      foot={
        <>
          <span className="grow" />
          <Button onPress={onClose}>{t("cancel", { ns: "common" })}</Button>
          <Button kind="danger" onPress={() => void remove()}>
            {t("deleteDo")}
          </Button>
        </>
      }
    >
      <p className="text-12 ink-2">{t("deleteText")}</p>
      {problem !== null && (
        <p className="note bad" role="alert">
          <Icon name="failed" />
          {problem}
        </p>
      )}
    </Dialog>
  );
}
