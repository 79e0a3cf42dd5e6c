import { useTranslation } from "react-i18next";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Button, IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import type { Upload, Uploads } from "./use-uploads";

/** How far each upload is, what went wrong with it, and what can be done. */
export function UploadList({ uploads }: { uploads: Uploads }) {
  const { t } = useTranslation("files");
  if (uploads.list.length === 0) return null;
  return (
    <ul className="files-uploads" aria-label={t("uploads")}>
      {uploads.list.map((upload) => (
        <Row key={upload.id} upload={upload} uploads={uploads} />
      ))}
    </ul>
  );
}

function Row({ upload, uploads }: { upload: Upload; uploads: Uploads }) {
  const { t } = useTranslation("files");
  const format = useFormat();
  const word = useReason();
  const share = upload.file.size === 0 ? 1 : upload.sent / upload.file.size;
  const exists = upload.problem?.code === "file_exists";
  return (
    <li className="files-upload">
      <span className={upload.state === "done" ? "ok" : upload.state === "failed" ? "bad" : "live"}>
        <Icon
          name={
            upload.state === "done"
              ? "succeeded"
              : upload.state === "failed"
                ? "failed"
                : upload.state === "waiting"
                  ? "queued"
                  : "running"
          }
        />
      </span>
      <span className="grow files-upload-text">
        <span className="clip">{upload.path}</span>
        <span className="text-12 ink-3" role={upload.state === "failed" ? "alert" : undefined}>
          {upload.problem !== null
            ? word(upload.problem)
            : upload.state === "done"
              ? t("uploaded", { size: format.size(upload.file.size) })
              : upload.state === "waiting"
                ? t("waits")
                : t("sent", { sent: format.size(upload.sent), total: format.size(upload.file.size) })}
        </span>
        {upload.state === "sending" && (
          <span
            className="bar live"
            role="progressbar"
            aria-label={upload.path}
            aria-valuenow={Math.round(share * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <i style={{ width: `${share * 100}%` }} />
          </span>
        )}
      </span>
      {exists && (
        <>
          <Button size="s" onPress={() => uploads.retry(upload.id, "number")}>
            {t("keepBoth")}
          </Button>
          <Button size="s" onPress={() => uploads.retry(upload.id, "replace")}>
            {t("replace")}
          </Button>
        </>
      )}
      {upload.state === "failed" && !exists && (
        <Button size="s" onPress={() => uploads.retry(upload.id)}>
          {t("retry", { ns: "common" })}
        </Button>
      )}
      <IconButton
        icon="close"
        size="s"
        label={t(upload.state === "sending" ? "stopUpload" : "offList", { name: upload.path })}
        onPress={() => uploads.drop(upload.id)}
      />
    </li>
  );
}
