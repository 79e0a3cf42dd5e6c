import { useTranslation } from "react-i18next";
import { IconButton } from "../../../ui/Button";
import { isSecretName, secretName } from "../../model/secrets";
import { useSecrets } from "../../store/secrets";
import type { FieldProps } from "./field";

/** The graph holds the secret's name. Its value stays in this page's memory until a run takes it along. */
export function SecretParam({
  nodes,
  param,
  value,
  mixed,
  label,
  describedBy,
  invalid,
  change,
  onRefused,
}: FieldProps) {
  const { t } = useTranslation("panel");
  const name = mixed ? "" : (secretName(value) ?? "");
  const held = useSecrets((state) => (name === "" ? undefined : state.values[name]));
  const ids = nodes.map((node) => node.id).join(",");
  return (
    <span className="secret-param">
      <input
        className="field mono"
        aria-label={label}
        aria-describedby={describedBy}
        aria-invalid={invalid || undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={t(mixed ? "mixed" : "secretName")}
        value={name}
        onChange={(event) => {
          const next = event.target.value.trim();
          const legal = next === "" || isSecretName(next);
          onRefused(!legal);
          if (!legal) return;
          const empty = param.optional === true ? null : undefined;
          change(next === "" ? empty : { secret: next }, `param ${ids} ${param.name}`);
        }}
      />
      {name !== "" && (
        <span className="row">
          <input
            className="field mono grow"
            type="password"
            aria-label={t("secretValueOf", { name })}
            autoComplete="off"
            placeholder={t("secretValue")}
            value={held ?? ""}
            onChange={(event) => useSecrets.getState().keep(name, event.target.value)}
          />
          {held !== undefined && held !== "" && (
            <IconButton
              icon="close"
              size="s"
              label={t("forgetSecret", { name })}
              onPress={() => useSecrets.getState().keep(name, "")}
            />
          )}
        </span>
      )}
      <span className="text-12 ink-3">
        {t(held ? "secretHeld" : name === "" ? "secretHow" : "secretAsked")}
      </span>
    </span>
  );
}
