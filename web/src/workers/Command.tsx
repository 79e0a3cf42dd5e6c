import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../ui/Button";

/** A command to be run in a terminal, with a button that copies it. */
export function Command({ text }: { text: string }) {
  const { t } = useTranslation("workers");
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = window.setTimeout(() => setCopied(false), 2000);
    return () => window.clearTimeout(timer);
  }, [copied]);
  return (
    <div className="command-line">
      <code className="mono">{text}</code>
      <Button
        size="s"
        icon={copied ? "check" : "copy"}
        onPress={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
      >
        <span aria-live="polite">{t(copied ? "copied" : "copy")}</span>
      </Button>
    </div>
  );
}
