import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../ui/Icon";
import "./drafts.css";
import { useImport } from "./use-import";

/** Graph files may be dropped anywhere on the page; a place of its own, such as a file field, takes them first. */
export function ImportDrop() {
  const { t } = useTranslation("drafts");
  const take = useImport();
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const inDialog = (event: DragEvent) =>
      event.target instanceof Element && event.target.closest("[role=dialog]") !== null;
    const onOver = (event: DragEvent) => {
      if (event.defaultPrevented || !hasFiles(event)) return;
      // Without this the browser would leave the page and show the file.
      event.preventDefault();
      setOver(!inDialog(event));
    };
    const onLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent) => {
      setOver(false);
      if (event.defaultPrevented || !hasFiles(event)) return;
      event.preventDefault();
      if (!inDialog(event)) void take([...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener("dragover", onOver);
    window.addEventListener("dragleave", onLeave);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", onOver);
      window.removeEventListener("dragleave", onLeave);
      window.removeEventListener("drop", onDrop);
    };
  }, [take]);
  if (!over) return null;
  return (
    <div className="drop-scrim">
      <div className="drop-card">
        <Icon name="graph" size={24} className="ink-2" />
        <strong>{t("dropGraph")}</strong>
        <span className="text-12 ink-2">{t("dropGraphText")}</span>
      </div>
    </div>
  );
}
