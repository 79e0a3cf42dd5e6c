import { Button } from "react-aria-components/Button";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import { currentLanguage, setLanguage } from "../i18n";
import { Icon, type IconName } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { useLiveRunCount } from "./live-runs";
import { setTheme, THEMES, useTheme } from "./theme";

interface Place {
  id: "home" | "canvas" | "runs" | "workers" | "sweeps" | "settings";
  icon: IconName;
  to: string;
  under: string;
}

const PLACES: readonly Place[] = [
  { id: "home", icon: "home", to: "/", under: "/" },
  { id: "canvas", icon: "graph", to: "/graphs", under: "/graphs" },
  { id: "runs", icon: "runs", to: "/runs", under: "/runs" },
  { id: "workers", icon: "workers", to: "/workers", under: "/workers" },
  { id: "sweeps", icon: "sweep", to: "/sweeps", under: "/sweeps" },
];

export function Rail() {
  const { t } = useTranslation();
  const [path] = useLocation();
  const live = useLiveRunCount();
  const here = (place: Place) =>
    place.under === "/" ? path === "/" : path === place.under || path.startsWith(`${place.under}/`);
  return (
    <nav className="rail" aria-label={t("main")}>
      <Link className="rail-logo" href="/" aria-label={t("product")}>
        <Logo />
      </Link>
      {PLACES.map((place) => (
        <Link
          key={place.id}
          href={place.to}
          className="rail-item"
          aria-current={here(place) ? "page" : undefined}
          title={t(place.id)}
        >
          <Icon name={place.icon} size={18} />
          <span className="rail-word">{t(place.id)}</span>
          {place.id === "runs" && live > 0 && (
            <span className="rail-count">
              <span aria-hidden="true">{live}</span>
              <span className="visually-hidden">{t("liveRuns", { count: live })}</span>
            </span>
          )}
        </Link>
      ))}
      <span className="grow" />
      <Link
        href="/settings"
        className="rail-item rail-small"
        aria-label={t("settings")}
        title={t("settings")}
        aria-current={path === "/settings" ? "page" : undefined}
      >
        <Icon name="sliders" size={18} />
      </Link>
      <ThemeMenu />
      <LanguageButton />
    </nav>
  );
}

function ThemeMenu() {
  const { t } = useTranslation();
  const theme = useTheme();
  const icons: Record<(typeof THEMES)[number], IconName> = { light: "sun", dark: "moon", system: "system" };
  return (
    <Menu
      label={t("theme")}
      entries={THEMES.map((id) => ({
        id,
        label: t(id),
        icon: id === theme ? "check" : icons[id],
        onAction: () => setTheme(id),
      }))}
    >
      <Button className="rail-item rail-small" aria-label={t("themeNow", { name: t(theme) })}>
        <Icon name={icons[theme]} size={18} />
      </Button>
    </Menu>
  );
}

function LanguageButton() {
  const { t } = useTranslation();
  return (
    <Menu
      label={t("language")}
      entries={[
        {
          id: "en",
          label: "English",
          icon: currentLanguage() === "en" ? "check" : "minus",
          onAction: () => setLanguage("en"),
        },
        {
          id: "zh-Hant",
          label: "繁體中文",
          icon: currentLanguage() === "zh-Hant" ? "check" : "minus",
          onAction: () => setLanguage("zh-Hant"),
        },
      ]}
    >
      <Button className="rail-item rail-small" aria-label={`${t("languageShort")}, ${t("language")}`}>
        <span>{t("languageShort")}</span>
      </Button>
    </Menu>
  );
}

function Logo() {
  return (
    <svg width="26" height="26" viewBox="0 0 26 26" aria-hidden="true">
      <path
        d="M7 18.500c7.5 0 4.5-11 12-11"
        fill="none"
        stroke="var(--ink)"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
      <circle cx="6" cy="18.5" r="4" fill="var(--ink)" />
      <rect x="15.8" y="3.6" width="7.8" height="7.8" rx="1.6" fill="var(--live)" />
    </svg>
  );
}
