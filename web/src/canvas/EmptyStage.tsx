import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { useExamples } from "../api";
import { inOrder } from "../gallery/examples";
import { Button, buttonClass } from "../ui/Button";
import { useStageUi } from "./store/stage-ui";

/** What belongs on an empty canvas, and how to begin. */
export function EmptyStage() {
  const { t } = useTranslation("canvas");
  const { data } = useExamples();
  const first = inOrder(data?.examples ?? [])[0];
  const title = first && t(`example.${first.name}.title`, { ns: "home", defaultValue: first.title });
  return (
    <div className="stage-empty">
      <div className="empty">
        <svg width="100" height="34" viewBox="0 0 100 34" fill="none" strokeWidth="1.4" aria-hidden="true">
          <rect x="1" y="6" width="28" height="20" rx="4" stroke="var(--edge)" />
          <rect x="71" y="6" width="28" height="20" rx="4" stroke="var(--edge)" />
          <path d="M34 16h24" stroke="var(--t-tensor)" strokeDasharray="5 3" strokeWidth="2" />
          <circle cx="63" cy="16" r="4" fill="var(--t-tensor)" stroke="none" />
        </svg>
        <h2>{t("emptyTitle")}</h2>
        <p>{t("emptyText")}</p>
        <div className="row">
          <Button
            kind="primary"
            icon="plus"
            onPress={() => useStageUi.getState().openSearch({ at: null, wire: null })}
          >
            {t("addNode")}
          </Button>
          {first !== undefined && (
            <Link href={`/graphs/${encodeURIComponent(first.name)}`} className={buttonClass()}>
              {t("openExample", { title })}
            </Link>
          )}
        </div>
      </div>
    </div>
  );
}
