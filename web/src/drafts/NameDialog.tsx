import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { ApiProblem, keys } from "../api";
import { useEditor } from "../canvas/store/editor";
import { renameGraph } from "../canvas/store/open-graphs";
import { useReason } from "../i18n/reasons";
import { renameTab } from "../tabs/tabs";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import "./drafts.css";
import { graphNameFault } from "./names";
import { isUntitled } from "./start";
import { keeping } from "./use-kept";

/** Gives the graph in front a name, or another one. */
export default function NameDialog() {
  const { t } = useTranslation("drafts");
  const word = useReason();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const { store } = useEditor();
  const [old] = useState(() => store.getState().name);
  const [name, setName] = useState(isUntitled(old) ? "" : old);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const wanted = name.trim().normalize("NFC");
  const fault = graphNameFault(wanted);
  const close = () => keeping.setState({ naming: false });
  const submit = async () => {
    if (busy || fault !== null) return;
    if (wanted === old) {
      close();
      return;
    }
    setBusy(true);
    setRefusal(null);
    try {
      const named = await renameGraph(old, wanted);
      renameTab(old, named);
      void client.invalidateQueries({ queryKey: keys.graphs });
      close();
      navigate(`/graphs/${encodeURIComponent(named)}`, { replace: true });
    } catch (error) {
      const undecided = error instanceof ApiProblem && error.code === "not_decided";
      setRefusal(undecided ? t("decideFirst") : error instanceof ApiProblem ? word(error) : String(error));
      setBusy(false);
    }
  };
  const said = refusal ?? (fault === null || fault === "empty" ? null : t(`nameFault.${fault}`));
  return (
    <Dialog
      title={isUntitled(old) ? t("nameTitle") : t("renameTitle", { name: old })}
      open
      onClose={close}
      width={420}
      foot={
        <>
          <span className="grow" />
          <Button onPress={close}>{t("cancel", { ns: "common" })}</Button>
          <Button kind="primary" isDisabled={busy || fault !== null} onPress={() => void submit()}>
            {t(isUntitled(old) ? "giveNameDo" : "rename")}
          </Button>
        </>
      }
    >
      <label className="name-field">
        <span className="text-12 ink-2">{t("graphName")}</span>
        <input
          className="field"
          autoFocus
          value={name}
          aria-invalid={said !== null}
          onFocus={(event) => event.target.select()}
          onChange={(event) => {
            setName(event.target.value);
            setRefusal(null);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.nativeEvent.isComposing) void submit();
          }}
        />
        <span
          className={`text-12 ${said === null ? "ink-3" : "bad"}`}
          role={said === null ? undefined : "alert"}
        >
          {said ?? t("nameHint")}
        </span>
      </label>
    </Dialog>
  );
}
