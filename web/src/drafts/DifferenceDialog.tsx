import { useReactFlow } from "@xyflow/react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { ApiProblem, api } from "../api";
import type { GraphDocument } from "../canvas/model/document";
import { useEditor, useGraph } from "../canvas/store/editor";
import { documentOf } from "../canvas/store/graph-store";
import { useReason } from "../i18n/reasons";
import { notices } from "../notices/notices";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { type ToldChange, useChangeWords } from "./change-words";
import { differenceOf } from "./difference";
import "./drafts.css";
import { freeName } from "./names";
import { canShow, showNode } from "./show-node";
import { keeping, useKept, useKeptState } from "./use-kept";

const SIGN = { added: "plus", removed: "minus", changed: "sliders" } as const;

/** My version and theirs side by side: who did what since both were one, and the choice between them. */
export default function DifferenceDialog() {
  const { t } = useTranslation("drafts");
  const word = useReason();
  const flow = useReactFlow();
  const [, navigate] = useLocation();
  const { store, catalog } = useEditor();
  const kept = useKept();
  const conflict = useKeptState((state) => state.conflict);
  const mine = useGraph(documentOf);
  const tell = useChangeWords(catalog);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const theirs = conflict?.theirs ?? null;
  const difference = useMemo(
    () => (theirs === null ? null : differenceOf(conflict?.base ?? null, mine, theirs)),
    [conflict, mine, theirs],
  );
  const close = () => keeping.setState({ comparing: false });
  if (conflict === null || theirs === null || difference === null) return null;

  const go = (told: ToldChange) => {
    if (told.change.node === null) return;
    close();
    showNode(store, flow, told.change.scope, told.change.node);
  };
  const list = (told: readonly ToldChange[], doc: GraphDocument) => (
    <ChangeList told={told} mine={mine} onShow={go} empty={doc === mine ? t("noneMine") : t("noneTheirs")} />
  );
  const keepBoth = async () => {
    setBusy(true);
    setProblem(null);
    const name = store.getState().name;
    try {
      const { graphs, drafts } = await api.graphs();
      const taken = [...graphs, ...(drafts ?? [])].map((graph) => graph.name);
      const copy = freeName(t("copyName", { name }), taken);
      await kept?.keepBoth(copy);
      close();
      notices.show({
        tone: "live",
        text: "drafts:copied",
        params: { name: copy },
        stays: true,
        action: { label: "drafts:open", run: () => navigate(`/graphs/${encodeURIComponent(copy)}`) },
      });
    } catch (error) {
      setProblem(error instanceof ApiProblem ? word(error) : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t("twoVersions", { name: store.getState().name })}
      open
      onClose={close}
      width={760}
      foot={
        <>
          <Button kind="ghost" onPress={close}>
            {t("later")}
          </Button>
          <span className="grow" />
          <Button
            onPress={() => {
              void kept?.takeTheirs();
              close();
              notices.show({ tone: "live", text: "drafts:tookTheirs" });
            }}
          >
            {t("useTheirs")}
          </Button>
          <Button
            onPress={() => {
              kept?.takeMine();
              close();
            }}
          >
            {t("useMine")}
          </Button>
          <Button kind="primary" isDisabled={busy} onPress={() => void keepBoth()}>
            {t("keepBoth")}
          </Button>
        </>
      }
    >
      <p className="text-12 ink-2 versions-lead">
        {t("versionsLead", { revision: conflict.revision })} {t("keepBothLead")}
      </p>
      {problem !== null && (
        <p className="note bad" role="alert">
          <Icon name="failed" />
          {problem}
        </p>
      )}
      {conflict.base === null ? (
        <section className="versions-one" aria-label={t("between")}>
          <h3>{t("between")}</h3>
          {list(tell(difference.between, mine), mine)}
        </section>
      ) : (
        <div className="versions">
          <section aria-label={t("mine")}>
            <h3>{t("mine")}</h3>
            {list(tell(difference.mine, mine), mine)}
          </section>
          <section aria-label={t("theirs", { revision: conflict.revision })}>
            <h3>{t("theirs", { revision: conflict.revision })}</h3>
            {list(tell(difference.theirs, theirs), theirs)}
          </section>
        </div>
      )}
    </Dialog>
  );
}

interface ListProps {
  told: readonly ToldChange[];
  mine: GraphDocument;
  onShow: (told: ToldChange) => void;
  empty: string;
}

function ChangeList({ told, mine, onShow, empty }: ListProps) {
  const { t } = useTranslation("drafts");
  if (told.length === 0) return <p className="text-12 ink-3 versions-none">{empty}</p>;
  return (
    <ul className="versions-list">
      {told.map((one) => (
        <li key={one.key}>
          <Icon name={SIGN[one.sign]} size={14} label={t(`sign.${one.sign}`)} className="ink-3" />
          {canShow(mine, one.change.scope, one.change.node) ? (
            <button type="button" className="versions-change" onClick={() => onShow(one)}>
              {one.text}
            </button>
          ) : (
            <span>{one.text}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
