import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useSecrets } from "./store/secrets";

/** Asks for the values of secrets that a run needs. They go into this page's memory and along with the run. */
export default function SecretsDialog() {
  const { t } = useTranslation("panel");
  const question = useSecrets((state) => state.question);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  if (question === null) return null;
  const complete = question.names.every((name) => (values[name] ?? "") !== "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!complete) return;
    for (const name of question.names) useSecrets.getState().keep(name, values[name] ?? "");
    question.answer(true);
  };
  return (
    <Dialog
      title={t("secretsTitle")}
      open
      width={440}
      onClose={() => question.answer(false)}
      foot={
        <>
          <span className="grow" />
          <Button onPress={() => question.answer(false)}>{t("common:cancel")}</Button>
          <Button kind="primary" type="submit" form="secrets" isDisabled={!complete}>
            {t("secretsGo")}
          </Button>
        </>
      }
    >
      <form id="secrets" className="secrets-form" onSubmit={submit}>
        <p className="ink-2">{t("secretsWhy")}</p>
        {question.names.map((name, at) => (
          <label key={name} className="form-row">
            <span className="mono clip">{name}</span>
            <input
              className="field mono"
              type="password"
              aria-label={t("secretValueOf", { name })}
              autoComplete="off"
              autoFocus={at === 0}
              value={values[name] ?? ""}
              onChange={(event) => setValues({ ...values, [name]: event.target.value })}
            />
          </label>
        ))}
      </form>
    </Dialog>
  );
}
