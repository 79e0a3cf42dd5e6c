import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import type { Refusal } from "./model/connect";

/** Why a wire is refused, in the page's language. */
export function useRefusalText(): (refusal: Refusal) => string {
  const { t } = useTranslation("canvas");
  return useCallback(
    ({ reason, params }) => {
      const type = (name: string | undefined) =>
        name === undefined ? "" : t(`type.${name}`, { defaultValue: name });
      return t(`refusal.${reason}`, { ...params, takes: type(params.takes), gives: type(params.gives) });
    },
    [t],
  );
}
