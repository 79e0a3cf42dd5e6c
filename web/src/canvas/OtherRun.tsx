import { useTranslation } from "react-i18next";
import { ENDED_STATUSES, useRuns } from "../api";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useEditor, useGraph } from "./store/editor";
import { useRunView } from "./store/run-view";
import { isRunOf, rememberRun } from "./store/runs";

/** Runs at the top of the list are the newest: what goes on is among them. */
const LOOKED_AT = 50;

/** Says so when this graph is being run by somebody else: another tab, another person, the command line. */
export function OtherRun() {
  const { t } = useTranslation("panel");
  const { store } = useEditor();
  const name = useGraph((state) => state.name);
  const own = useGraph((state) => state.runId);
  const run = useRunView();
  const { data } = useRuns(null, LOOKED_AT);
  const other = data?.pages[0]?.runs.find(
    (row) => isRunOf(row, name) && row.run_id !== own && !ENDED_STATUSES.has(row.status),
  );
  // Two runs of one graph at once are fine as long as this tab shows one of them.
  if (other === undefined || run?.active === true) return null;
  return (
    <div className="note live notice" role="status">
      <Icon name="info" />
      <span className="grow">{t("otherRun", { number: other.number })}</span>
      <Button
        size="s"
        onPress={() => {
          rememberRun(name, other.run_id);
          store.getState().set({ runId: other.run_id });
        }}
      >
        {t("otherRunShow")}
      </Button>
    </div>
  );
}
