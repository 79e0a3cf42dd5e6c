import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import type { FieldProps } from "./field";

// The editor and its grammar come with the first script that is shown.
const CodeEditor = lazy(() => import("./CodeEditor"));

/** A script or a longer text; in the panel it has a few lines, in its own window as many as fit. */
export function CodeParam({ nodes, param, value, mixed, label, describedBy, change }: FieldProps) {
  const { t } = useTranslation("panel");
  const [large, setLarge] = useState(false);
  const text = typeof value === "string" ? value : "";
  const ids = nodes.map((node) => node.id).join(",");
  if (mixed) return <span className="field field-fixed ink-3">{t("mixed")}</span>;
  const editor = (
    <Suspense fallback={<pre className="code-editor mono">{text}</pre>}>
      <CodeEditor
        label={label}
        value={text}
        isPython={param.name === "code"}
        describedBy={describedBy}
        onChange={(next) => {
          if (next !== text) change(next, `param ${ids} ${param.name}`);
        }}
      />
    </Suspense>
  );
  return (
    <div className="code-param">
      {!large && editor}
      <Button size="s" kind="ghost" icon="external" className="code-larger" onPress={() => setLarge(true)}>
        {t("openLarge")}
      </Button>
      {large && (
        <Dialog title={label} open width={960} onClose={() => setLarge(false)}>
          <div className="code-large">{editor}</div>
        </Dialog>
      )}
    </div>
  );
}
