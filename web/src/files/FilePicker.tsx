import { lazy, Suspense, useState } from "react";
import { Button as AriaButton } from "react-aria-components/Button";
import { useTranslation } from "react-i18next";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import "./files.css";
import { nameOf } from "./paths";

// Opened seldom: it comes when it is asked for.
const FileDialog = lazy(() => import("./FileDialog"));

export interface FilePickerProps {
  /** The parameter's name, for people. */
  label: string;
  /** A path below the user's files; empty for none. */
  value: string;
  onChange: (path: string) => void;
  /** What may be chosen; a parameter may mean either. */
  choose?: "file" | "folder" | "any";
  /** Shown while nothing is chosen. */
  placeholder?: string | undefined;
  invalid?: boolean;
  describedBy?: string | undefined;
}

/** A field that shows the chosen file and opens the browser of the user's files; a file dropped on it is uploaded. */
export function FilePicker({
  label,
  value,
  onChange,
  choose = "any",
  placeholder,
  invalid = false,
  describedBy,
}: FilePickerProps) {
  const { t } = useTranslation("files");
  const [open, setOpen] = useState(false);
  const [dropped, setDropped] = useState<readonly File[]>([]);
  const [over, setOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only a place to drop files; the button does the same
    <span
      className={`file-picker${over ? " over" : ""}`}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        event.stopPropagation();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        event.stopPropagation();
        setDropped([...event.dataTransfer.files]);
        setOpen(true);
      }}
    >
      <AriaButton
        className="field file-field"
        aria-label={value === "" ? `${label}: ${t("choose")}` : `${label}: ${value}`}
        aria-describedby={describedBy}
        data-invalid={invalid || undefined}
        data-empty={value === "" || undefined}
        onPress={() => setOpen(true)}
      >
        <span className="grow clip" title={value}>
          {value === "" ? (placeholder ?? t("choose")) : nameOf(value)}
        </span>
        <Icon name="file" />
      </AriaButton>
      {value !== "" && (
        <IconButton icon="close" size="s" label={t("clear", { label })} onPress={() => onChange("")} />
      )}
      {open && (
        <Suspense>
          <FileDialog
            title={label}
            value={value}
            choose={choose}
            dropped={dropped}
            onClose={() => {
              setOpen(false);
              setDropped([]);
            }}
            onChoose={onChange}
          />
        </Suspense>
      )}
    </span>
  );
}
