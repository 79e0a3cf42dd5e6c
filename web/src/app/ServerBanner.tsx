import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { api, connection, useConnectionState, usePresence } from "../api";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reasons";
import { Icon } from "../ui/Icon";

const PROBE_MS = 2_000;
const ANSWER_WITHIN_MS = 5_000;

/** Ask the server for a sign of life while it is in doubt; what is shown is fetched anew when it is back. */
function useProbe(): void {
  const client = useQueryClient();
  const { awaySince } = usePresence();
  const away = awaySince !== null;
  const lost = useConnectionState() === "waiting";
  useEffect(() => {
    if (!away && !lost) return;
    let timer = 0;
    let stopped = false;
    const ask = async () => {
      // What comes of it is known to `presence`.
      await api.health(AbortSignal.timeout(ANSWER_WITHIN_MS)).catch(() => {});
      if (!stopped && away) timer = window.setTimeout(ask, PROBE_MS);
    };
    timer = window.setTimeout(ask, away ? PROBE_MS : 0);
    return () => {
      stopped = true;
      window.clearTimeout(timer);
    };
  }, [away, lost]);
  const before = useRef(away);
  useEffect(() => {
    if (before.current && !away) {
      connection().wake();
      void client.invalidateQueries();
    }
    before.current = away;
  }, [away, client]);
}

/** One line above every page while the server does not answer, or no longer lets this browser in. */
export function ServerBanner() {
  const { t } = useTranslation();
  const format = useFormat();
  const word = useReason();
  const { awaySince, locked, admitted } = usePresence();
  useProbe();
  if (awaySince !== null) {
    return (
      <p className="server-banner warn" role="alert">
        <Icon name="disconnected" />
        {t("serverAway", { time: format.time(awaySince) })}
      </p>
    );
  }
  if (locked !== null && admitted) {
    return (
      <p className="server-banner bad" role="alert">
        <Icon name="warning" />
        {word(locked)}
      </p>
    );
  }
  return null;
}
