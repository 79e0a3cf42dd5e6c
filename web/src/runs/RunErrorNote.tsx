import { useTranslation } from "react-i18next";
import type { RunDetail, RunError } from "../api";
import { useReason } from "../i18n/reasons";
import { Icon } from "../ui/Icon";

interface Props {
  run: RunDetail;
  error: RunError;
  nameOf: (nodeId: string) => string;
}

/** Why the run did not succeed: the cause first, then where, then what it printed last. */
export function RunErrorNote({ run, error, nameOf }: Props) {
  const { t } = useTranslation("runs");
  const word = useReason();
  const problems = (error.problems ?? []) as { message?: unknown; code?: unknown; params?: unknown }[];
  return (
    <section className="run-error" role="alert">
      <div className="run-error-head">
        <Icon name={run.status === "interrupted" ? "interrupted" : "failed"} />
        <div className="col grow">
          <strong>{t(`errorTitle.${run.status === "interrupted" ? "interrupted" : "failed"}`)}</strong>
          <span>{word(error)}</span>
          {error.node_id && (
            <span className="text-12 ink-2">{t("showNode", { node: nameOf(error.node_id) })}</span>
          )}
        </div>
      </div>
      {problems.length > 0 && (
        <ul className="run-error-problems" aria-label={t("problems")}>
          {problems.map((problem) => (
            <li key={String(problem.message)}>
              {word({
                code: String(problem.code),
                message: String(problem.message),
                params: problem.params as Record<string, unknown>,
              })}
            </li>
          ))}
        </ul>
      )}
      {error.traceback && (
        <details>
          <summary>{t("traceback")}</summary>
          <pre className="mono">{error.traceback}</pre>
        </details>
      )}
      {error.output_tail && (
        <details open>
          <summary>{t("lastOutput")}</summary>
          <pre className="mono">{error.output_tail}</pre>
        </details>
      )}
    </section>
  );
}
