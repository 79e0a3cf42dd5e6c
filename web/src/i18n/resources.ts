import editor from "../canvas/editor-locale";
import canvas from "../canvas/locale";
import panel from "../canvas/panel/locale";
import charts from "../charts/locale";
import drafts from "../drafts/locale";
import files from "../files/locale";
import home from "../home/locale";
import inspector from "../inspector/locale";
import runs from "../runs/locale";
import settings from "../settings/locale";
import workers from "../workers/locale";
import common from "./common";
import format from "./format-locale";

/** One namespace per feature; `common` is the default one. */
export const features = {
  common,
  canvas,
  charts,
  drafts,
  editor,
  files,
  format,
  home,
  inspector,
  panel,
  runs,
  workers,
  settings,
};

export const resources = {
  en: Object.fromEntries(Object.entries(features).map(([name, words]) => [name, words.en])),
  "zh-Hant": Object.fromEntries(Object.entries(features).map(([name, words]) => [name, words["zh-Hant"]])),
};
