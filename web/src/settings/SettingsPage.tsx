import { useTranslation } from "react-i18next";
import { useConnectionState, useHealth } from "../api";
import { setTheme, THEMES, useTheme } from "../app/theme";
import { currentLanguage, type Language, setLanguage } from "../i18n";
import { Segmented } from "../ui/Segmented";
import "./settings.css";

const LANGUAGES: readonly { id: Language; label: string }[] = [
  { id: "en", label: "English" },
  { id: "zh-Hant", label: "繁體中文" },
];

export default function SettingsPage() {
  const { t } = useTranslation("settings");
  const theme = useTheme();
  const health = useHealth().data;
  const connection = useConnectionState();
  return (
    <main className="page">
      <div className="page-head">
        <h1>{t("title")}</h1>
      </div>
      <div className="settings">
        <section className="card" aria-label={t("appearance")}>
          <div className="card-head">
            <span className="grow">{t("appearance")}</span>
            <span className="text-12 ink-3 plain">{t("kept")}</span>
          </div>
          <div className="setting">
            <span>{t("theme")}</span>
            <Segmented
              label={t("theme")}
              value={theme}
              options={THEMES.map((id) => ({ id, label: t(`common:${id}`) }))}
              onChange={setTheme}
            />
          </div>
          <div className="setting">
            <span className="col">
              {t("language")}
              <span className="text-12 ink-3">{t("languageText")}</span>
            </span>
            <Segmented
              label={t("language")}
              value={currentLanguage()}
              options={LANGUAGES}
              onChange={setLanguage}
            />
          </div>
        </section>
        <section className="card" aria-label={t("server")}>
          <div className="card-head">{t("server")}</div>
          <dl className="facts">
            <dt>{t("version")}</dt>
            <dd>{health?.version ?? "–"}</dd>
            <dt>{t("protocol")}</dt>
            <dd>{health?.protocol_version ?? "–"}</dd>
            <dt>{t("address")}</dt>
            <dd>{window.location.origin}</dd>
            <dt>{t("connection")}</dt>
            <dd className="text">{t(connection === "open" ? "connected" : "connecting")}</dd>
          </dl>
          <div className="setting">
            <span className="col">
              {t("api")}
              <span className="text-12 ink-3">{t("apiText")}</span>
            </span>
            <a className="btn" href="/openapi.json" target="_blank" rel="noreferrer">
              openapi.json
            </a>
          </div>
          <div className="setting">
            <span className="text-12 ink-3">{t("settingsText")}</span>
            <code className="mono settings-command">codefy serve --help</code>
          </div>
        </section>
      </div>
    </main>
  );
}
