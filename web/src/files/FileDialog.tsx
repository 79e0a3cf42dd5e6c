import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, api, type FileEntry, fileUrl, keys } from "../api";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Button, IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import "./files.css";
import { crumbs, joined, nameFault, parentOf } from "./paths";
import { UploadList } from "./UploadList";
import { useUploads } from "./use-uploads";

interface Props {
  title: string;
  value: string;
  choose: "file" | "folder" | "any";
  /** Files to upload at once. */
  dropped: readonly File[];
  onClose: () => void;
  /** Without it the files are only looked after. */
  onChoose?: (path: string) => void;
}

/** The user's files: browse, upload, make folders, and choose one. */
export default function FileDialog({ title, value, choose, dropped, onClose, onChoose }: Props) {
  const { t } = useTranslation("files");
  const format = useFormat();
  const word = useReason();
  const client = useQueryClient();
  const [folder, setFolder] = useState(parentOf(value));
  const [chosen, setChosen] = useState<string | null>(value === "" ? null : value);
  const [making, setMaking] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<FileEntry | null>(null);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const { data, error, isPending } = useQuery({
    queryKey: keys.files(folder),
    queryFn: ({ signal }) => api.files(folder, signal),
  });
  const uploads = useUploads((entry) => {
    if (parentOf(entry.path) === folder && choose !== "folder") setChosen(entry.path);
  });
  const { add } = uploads;
  const taken = useRef(false);
  useEffect(() => {
    if (taken.current || dropped.length === 0) return;
    taken.current = true;
    add(dropped, folder);
  }, [dropped, folder, add]);

  // The folder of a value that somebody typed, or of a file that is gone, need not be there.
  const lost = error instanceof ApiProblem && error.status === 404 && folder !== "";
  useEffect(() => {
    if (lost) setFolder("");
  }, [lost]);

  const go = (path: string) => {
    setFolder(path);
    setChosen(null);
    setMaking(null);
    setProblem(null);
    setLeaving(null);
  };
  const tell = (failure: unknown) =>
    setProblem(failure instanceof ApiProblem ? word(failure) : String(failure));
  const refresh = () => client.invalidateQueries({ queryKey: ["files"] });
  const make = async () => {
    const name = making?.trim() ?? "";
    const fault = nameFault(name);
    if (fault !== null) {
      setProblem(t(`fault.${fault}`));
      return;
    }
    try {
      const made = await api.makeFolder(joined(folder, name.normalize("NFC")));
      await refresh();
      go(made.path);
    } catch (failure) {
      tell(failure);
    }
  };
  const remove = async (entry: FileEntry) => {
    setLeaving(null);
    try {
      await api.deleteFile(entry.path, true);
      if (chosen === entry.path) setChosen(null);
      setProblem(null);
      await refresh();
    } catch (failure) {
      tell(failure);
    }
  };
  // With nothing marked, a parameter that takes a folder gets the one that is open.
  const result = chosen ?? (choose === "file" || folder === "" ? null : folder);
  const finish = (path: string | null) => {
    if (path === null || onChoose === undefined) return;
    onChoose(path);
    onClose();
  };
  const entries = data?.entries ?? [];
  return (
    <Dialog
      title={title}
      open
      onClose={onClose}
      width={640}
      foot={
        <>
          <span className="text-12 ink-3 grow clip" title={result ?? undefined}>
            {onChoose === undefined ? t("forNodes") : (result ?? t("nothingChosen"))}
          </span>
          <Button onPress={onClose}>
            {t(onChoose === undefined ? "close" : "cancel", { ns: "common" })}
          </Button>
          {onChoose !== undefined && (
            <Button kind="primary" isDisabled={result === null} onPress={() => finish(result)}>
              {chosen === null && result !== null ? t("chooseFolder") : t("chooseThis")}
            </Button>
          )}
        </>
      }
    >
      <div className="files-bar">
        <nav className="files-crumbs grow" aria-label={t("path")}>
          <button type="button" className="link" onClick={() => go("")}>
            {t("all")}
          </button>
          {crumbs(folder).map((crumb) => (
            <span key={crumb.path} className="row">
              <Icon name="right" size={12} className="ink-3" />
              <button type="button" className="link clip" onClick={() => go(crumb.path)}>
                {crumb.name}
              </button>
            </span>
          ))}
        </nav>
        <Button size="s" icon="folder" onPress={() => setMaking(making === null ? "" : null)}>
          {t("newFolder")}
        </Button>
        <Button size="s" icon="upload" onPress={() => input.current?.click()}>
          {t("upload")}
        </Button>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label={t("upload")}
          onChange={(event) => {
            add([...(event.target.files ?? [])], folder);
            event.target.value = "";
          }}
        />
      </div>
      {making !== null && (
        <div className="row files-making">
          <input
            className="field"
            autoFocus
            aria-label={t("folderName")}
            placeholder={t("folderName")}
            value={making}
            onChange={(event) => setMaking(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") void make();
              if (event.key === "Escape") {
                event.stopPropagation();
                setMaking(null);
              }
            }}
          />
          <Button onPress={() => void make()}>{t("make")}</Button>
        </div>
      )}
      {problem !== null && (
        <p className="note bad files-note" role="alert">
          <Icon name="failed" />
          {problem}
        </p>
      )}
      {leaving !== null && (
        <div className="note warn files-note" role="alert">
          <Icon name="warning" />
          <span className="grow">
            {t(leaving.kind === "folder" ? "deleteFolder" : "deleteFile", { name: leaving.name })}
          </span>
          <Button size="s" onPress={() => setLeaving(null)}>
            {t("keep")}
          </Button>
          <Button size="s" kind="danger" onPress={() => void remove(leaving)}>
            {t("delete")}
          </Button>
        </div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a place to drop files; the button above does the same */}
      <div
        className={`files-list${over ? " over" : ""}`}
        onDragOver={(event) => {
          if (!event.dataTransfer.types.includes("Files")) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          add([...event.dataTransfer.files], folder);
        }}
      >
        {isPending && <p className="files-none ink-3">{t("loading", { ns: "common" })}</p>}
        {error !== null && !lost && (
          <p className="note bad" role="alert">
            <Icon name="failed" />
            {error instanceof ApiProblem ? word(error) : error.message}
          </p>
        )}
        {data !== undefined && entries.length === 0 && (
          <p className="files-none ink-2">
            {t(folder === "" ? "noneYet" : "emptyFolder")}
            <span className="text-12 ink-3">{t("dropHere")}</span>
          </p>
        )}
        <ul aria-label={t("files")}>
          {entries.map((entry) => (
            <li key={entry.path} className={`files-row${entry.path === chosen ? " on" : ""}`}>
              <button
                type="button"
                className="files-entry"
                aria-pressed={entry.path === chosen}
                disabled={choose === "folder" && entry.kind === "file"}
                onClick={() => (entry.kind === "folder" ? go(entry.path) : setChosen(entry.path))}
                onDoubleClick={() => entry.kind === "file" && finish(entry.path)}
              >
                <Icon name={entry.kind === "folder" ? "folder" : "file"} className="ink-2" />
                <span className="grow clip" title={entry.name}>
                  {entry.name}
                </span>
                <span className="files-size text-12 ink-3">
                  {entry.size === null ? "" : format.size(entry.size)}
                </span>
                <span className="files-when text-12 ink-3">{format.time(entry.modified_at)}</span>
              </button>
              {entry.kind === "file" ? (
                <a
                  className="btn btn-ghost btn-s btn-icon"
                  href={fileUrl(entry.path, true)}
                  download={entry.name}
                  aria-label={t("download", { name: entry.name })}
                >
                  <Icon name="download" />
                </a>
              ) : (
                <span className="files-gap" />
              )}
              <IconButton
                icon="trash"
                size="s"
                label={t("deleteNamed", { name: entry.name })}
                onPress={() => setLeaving(entry)}
              />
            </li>
          ))}
        </ul>
        {data !== undefined && data.total > entries.length && (
          <p className="text-12 ink-3 files-more">
            {t("more", { shown: format.count(entries.length), total: format.count(data.total) })}
          </p>
        )}
      </div>
      <UploadList uploads={uploads} />
      {data !== undefined && (
        <p className="text-12 ink-3 files-free">{t("free", { size: format.size(data.free_bytes) })}</p>
      )}
    </Dialog>
  );
}
