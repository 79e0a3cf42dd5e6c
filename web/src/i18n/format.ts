// Times, durations, sizes and counts in the page's language.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

export interface Format {
  /** Whole numbers with separators: 1,284. */
  count(value: number): string;
  /** Seconds: “39 s”, “1 min 12 s”, “1 h 06 min”. */
  duration(seconds: number): string;
  /** Hours and minutes of today, with the day before that: “14:26”, “Nov 30, 14:26”. */
  time(unixSeconds: number): string;
  /** Hours, minutes and seconds. */
  clock(unixSeconds: number): string;
  /** Date and time in full. */
  moment(unixSeconds: number): string;
  /** Bytes in decimal units: “88 kB”. */
  size(bytes: number): string;
  /** Memory in binary units: “17.2 GiB”. */
  memory(bytes: number): string;
  /** Of a total, in the total's unit: “17.2 / 24 GiB”. */
  memoryOf(used: number, total: number): string;
  percent(fraction: number): string;
}

const SIZES = ["kB", "MB", "GB", "TB"];
const MEMORY = ["KiB", "MiB", "GiB", "TiB"];

function scaled(value: number, base: number, units: readonly string[]): string {
  if (value < base) return `${Math.round(value)} B`;
  let left = value / base;
  let unit = 0;
  while (left >= base * 0.9995 && unit < units.length - 1) {
    left /= base;
    unit += 1;
  }
  return `${left < 10 ? left.toFixed(1).replace(/\.0$/, "") : Math.round(left)} ${units[unit]}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

export function makeFormat(language: string, words: DurationWords): Format {
  const locale = language.startsWith("zh") ? "zh-TW" : "en-GB";
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const hour = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hour12: false });
  const day = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });
  const second = new Intl.DateTimeFormat(locale, { timeStyle: "medium", hour12: false });
  const full = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium", hour12: false });
  const date = (seconds: number) => new Date(seconds * 1000);
  return {
    count: (value) => whole.format(value),
    duration: (seconds) => durationText(seconds, words),
    time: (seconds) => {
      const when = date(seconds);
      const today = when.toDateString() === new Date().toDateString();
      return today ? hour.format(when) : `${day.format(when)}${words.dayGap}${hour.format(when)}`;
    },
    clock: (seconds) => second.format(date(seconds)),
    moment: (seconds) => full.format(date(seconds)),
    size: (bytes) => scaled(bytes, 1000, SIZES),
    memory: (bytes) => scaled(bytes, 1024, MEMORY),
    memoryOf: (used, total) => {
      const [whole, unit] = scaled(total, 1024, MEMORY).split(" ") as [string, string];
      const power = MEMORY.indexOf(unit) + 1;
      const part = used / 1024 ** power;
      return `${part < 100 ? Number(part.toFixed(1)) : Math.round(part)} / ${whole} ${unit}`;
    },
    percent: (fraction) => `${Math.floor(Math.max(0, Math.min(1, fraction)) * 100)}%`,
  };
}

export interface DurationWords {
  hour: string;
  minute: string;
  second: string;
  day: string;
  gap: string;
  dayGap: string;
}

export function durationText(seconds: number, words: DurationWords): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1).replace(/\.0$/, "")}${words.second}`;
  const total = Math.round(seconds);
  if (total < 60) return `${total}${words.second}`;
  if (total < 3600) {
    const rest = total % 60;
    const minutes = `${Math.floor(total / 60)}${words.minute}`;
    // Seconds say nothing any more beside many minutes.
    return total >= 600 ? minutes : `${minutes}${words.gap}${two(rest)}${words.second}`;
  }
  if (total < 86_400) {
    return `${Math.floor(total / 3600)}${words.hour}${words.gap}${two(Math.floor((total % 3600) / 60))}${words.minute}`;
  }
  return `${Math.floor(total / 86_400)}${words.day}${words.gap}${two(Math.floor((total % 86_400) / 3600))}${words.hour}`;
}

export function useFormat(): Format {
  const { t, i18n } = useTranslation("format");
  const language = i18n.language;
  return useMemo(
    () =>
      makeFormat(language, {
        day: t("day"),
        hour: t("hour"),
        minute: t("minute"),
        second: t("second"),
        gap: t("gap"),
        dayGap: t("dayGap"),
      }),
    [language, t],
  );
}
