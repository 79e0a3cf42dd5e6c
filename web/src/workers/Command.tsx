import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useServerInfo } from "../api";
import { Button } from "../ui/Button";
import { startCommand } from "./command";

/** The command that starts a worker of this server on the server's own machine. */
export function StartCommand({ name }: { name: string }) {
  const { t } = useTranslation("workers");
  const { data, isError } = useServerInfo();
  if (data === undefined) {
    return <p className="text-12 ink-3">{t(isError ? "commandFailed" : "common:loading")}</p>;
  }
  return <Command text={startCommand(window.location.origin, data.token_file, name)} />;
}

/** A command to be run in a terminal, with a button that copies it. */
function Command({ text }: { text: string }) {
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
