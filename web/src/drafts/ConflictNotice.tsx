import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useGraph } from "../canvas/store/editor";
import { documentOf } from "../canvas/store/graph-store";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { differenceOf } from "./difference";
import { keeping, useKept, useKeptState } from "./use-kept";

/** Two versions are at odds: says so until the person has decided. */
export function ConflictNotice() {
  const { t } = useTranslation("drafts");
  const kept = useKept();
  const conflict = useKeptState((state) => state.conflict);
  const mine = useGraph(documentOf);
  const nodes = useMemo(
    () => (conflict?.theirs ? differenceOf(conflict.base, mine, conflict.theirs).nodes : 0),
    [conflict, mine],
  );
  if (conflict === null) return null;
  const where = conflict.draft === null ? t("mineHere") : t("mineDraft");
  if (conflict.theirs === null) {
    return (
      <div className="note warn notice" role="alert">
        <Icon name="warning" />
        <span className="grow">
          <span className="strong">{t("deletedElsewhere")}</span> {where}
        </span>
        <Button size="s" onPress={() => kept?.takeMine()}>
          {t("saveAgain")}
        </Button>
      </div>
    );
  }
  return (
    <div className="note warn notice" role="alert">
      <Icon name="warning" />
      <span className="grow">
        <span className="strong">
          {t(conflict.from > 0 ? "savedElsewhere" : "savedMeanwhile", {
            revision: conflict.revision,
            mine: conflict.from,
          })}
        </span>{" "}
        {nodes > 0 ? t("nodesDiffer", { count: nodes }) : t("othersDiffer")} {t("nothingLost")} {where}
      </span>
      <Button size="s" onPress={() => keeping.setState({ comparing: true })}>
        {t("seeBoth")}
      </Button>
    </div>
  );
}
