import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { useFormat } from "../i18n/format";
import { Button, IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { NOTICE_MS, notices, type ShownNotice, stays } from "./notices";

const ICON = { bad: "failed", warn: "warning", live: "info" } as const;

/** What happened to graphs and files, with what can be done about it. */
export function GraphNotices() {
  const list = useStore(notices.store, (state) => state.list);
  return list.map((notice) => <One key={notice.id} notice={notice} />);
}

function One({ notice }: { notice: ShownNotice }) {
  const { t } = useTranslation("drafts");
  const format = useFormat();
  const passing = !stays(notice);
  useEffect(() => {
    if (!passing) return;
    const timer = window.setTimeout(() => notices.dismiss(notice.id), NOTICE_MS);
    return () => window.clearTimeout(timer);
  }, [passing, notice.id]);
  const params = { ...notice.params, time: notice.time === undefined ? "" : format.time(notice.time) };
  const { action } = notice;
  const say = (key: string) => t(key, params);
  return (
    <div className={`note ${notice.tone} notice`} role={notice.tone === "bad" ? "alert" : "status"}>
      <Icon name={ICON[notice.tone]} />
      <span className="grow">
        <span className="strong">{say(notice.text)}</span> {notice.said}
        {notice.detail !== undefined && ` ${say(notice.detail)}`}
      </span>
      {action !== undefined && (
        <Button
          size="s"
          onPress={() => {
            notices.dismiss(notice.id);
            action.run();
          }}
        >
          {say(action.label)}
        </Button>
      )}
      <IconButton icon="close" size="s" label={t("dismiss")} onPress={() => notices.dismiss(notice.id)} />
    </div>
  );
}
