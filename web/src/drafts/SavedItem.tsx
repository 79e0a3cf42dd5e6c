import { useTranslation } from "react-i18next";
import { useEditor, useGraph } from "../canvas/store/editor";
import { useReason } from "../i18n/reasons";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useNow } from "../ui/use-now";
import { keeping, useKept, useKeptState } from "./use-kept";

/** Whether the graph is saved; why not, where it is meanwhile, and what can be done. */
export function SavedItem() {
  const { t } = useTranslation("drafts");
  const { store } = useEditor();
  const save = useGraph((state) => state.save);
  const revision = useGraph((state) => state.revision);
  const shelf = useKeptState((kept) => kept.shelf);
  const others = useKeptState((kept) => kept.others);
  return (
    <>
      {save === "failed" ? (
        <Failed />
      ) : save === "conflict" ? (
        <span className="strip-item">
          <span className="warn">
            <Icon name="warning" size={14} />
          </span>
          {t("undecided")}
          <Button size="s" kind="ghost" onPress={() => keeping.setState({ comparing: true })}>
            {t("seeBoth")}
          </Button>
        </span>
      ) : save === "waiting" || save === "saving" ? (
        <span className="strip-item">
          <Icon name="stale" size={14} />
          {t("saving")}
        </span>
      ) : (
        <span className="strip-item">
          <span className="ok">
            <Icon name="check" size={14} />
          </span>
          {save === "untouched" || revision === null ? t("unchanged") : t("savedRevision", { revision })}
        </span>
      )}
      {shelf === "draft" && store.getState().history.present.nodes.length > 0 && (
        <span className="strip-item">
          {t("notNamed")}
          <Button size="s" kind="ghost" onPress={() => keeping.setState({ naming: true })}>
            {t("giveName")}
          </Button>
        </span>
      )}
      {others > 0 && (
        <span className="strip-item" title={t("otherTabsLong")}>
          <Icon name="copy" size={14} />
          {t("otherTabs", { count: others })}
        </span>
      )}
    </>
  );
}

function Failed() {
  const { t } = useTranslation("drafts");
  const word = useReason();
  const kept = useKept();
  const problem = useKeptState((state) => state.problem);
  const mirrored = useKeptState((state) => state.mirrored);
  const retryAt = useKeptState((state) => state.retryAt);
  const now = useNow(retryAt !== null);
  const left = retryAt === null ? 0 : Math.max(1, Math.ceil(retryAt - now));
  const why = problem === null ? "" : word(problem);
  return (
    <span className="strip-item" title={why}>
      <span className="bad">
        <Icon name="failed" size={14} />
      </span>
      <span role="alert">
        {t("notSaved", { why })} {t(mirrored ? "keptHere" : "keptNowhere")}
      </span>
      {retryAt !== null && <span className="ink-3">{t("again", { seconds: left })}</span>}
      <Button size="s" kind="ghost" onPress={() => kept?.retry()}>
        {t("tryNow")}
      </Button>
    </span>
  );
}
