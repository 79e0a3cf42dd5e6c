import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { resources } from "./resources";

export const LANGUAGES = ["en", "zh-Hant"] as const;
export type Language = (typeof LANGUAGES)[number];

const KEY = "codefy.language";

function stored(): Language {
  const lang = document.documentElement.lang;
  return lang.startsWith("zh") ? "zh-Hant" : "en";
}

/** Starts the translations in the language that `boot.js` chose for the page. */
export function startTranslations(): void {
  void i18next.use(initReactI18next).init({
    resources,
    lng: stored(),
    fallbackLng: "en",
    supportedLngs: [...LANGUAGES],
    defaultNS: "common",
    ns: Object.keys(resources.en),
    // React escapes what it renders.
    interpolation: { escapeValue: false },
    initAsync: false,
    returnNull: false,
  });
}

export function setLanguage(language: Language): void {
  void i18next.changeLanguage(language);
  document.documentElement.lang = language;
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // Storage may be blocked; the choice then lasts until the page is left.
  }
}

export function currentLanguage(): Language {
  return i18next.language === "zh-Hant" ? "zh-Hant" : "en";
}
