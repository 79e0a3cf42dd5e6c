// Every key that the source asks for exists, in both languages; every key that exists is asked for somewhere.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { features } from "./resources";

type Words = { [key: string]: string | Words };

function flat(words: Words, prefix = ""): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(words)) {
    if (typeof value === "string") found.set(prefix + key, value);
    else for (const [inner, text] of flat(value, `${prefix}${key}.`)) found.set(inner, text);
  }
  return found;
}

const base = (key: string) => key.replace(/_(one|other)$/, "");
const fields = (text: string) => [...text.matchAll(/\{\{(\w+)/g)].map(([, name]) => name as string).sort();

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.tsx?$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** The first argument of each call of `t`, as source text. */
function firstArguments(source: string): string[] {
  const found: string[] = [];
  for (const match of source.matchAll(/\bt\(/g)) {
    let depth = 0;
    let end = match.index + 2;
    for (; end < source.length; end++) {
      const char = source[end] as string;
      if ("([{".includes(char)) depth++;
      else if (")]}".includes(char)) {
        if (depth === 0) break;
        depth--;
      } else if (char === "," && depth === 0) break;
    }
    found.push(source.slice(match.index + 2, end));
  }
  return found;
}

const tables = new Map(
  Object.entries(features).map(([name, words]) => [
    name,
    { en: flat(words.en as Words), zh: flat(words["zh-Hant"] as Words) },
  ]),
);

describe("words", () => {
  it.each([...tables])("of %s are there in both languages, with the same fields", (_, { en, zh }) => {
    expect(new Set([...zh.keys()].map(base))).toEqual(new Set([...en.keys()].map(base)));
    for (const [key, text] of zh) {
      const english = en.get(key) ?? en.get(base(key)) ?? "";
      expect(fields(english), key).toEqual(expect.arrayContaining(fields(text)));
      expect(text, key).not.toBe("");
    }
  });

  it.each([...tables])("of %s have a plural for each singular", (_, { en, zh }) => {
    for (const key of en.keys())
      if (key.endsWith("_one")) expect(en.has(`${base(key)}_other`), key).toBe(true);
    for (const key of zh.keys()) expect(key.endsWith("_one"), key).toBe(false);
  });

  it("are there for every key that the source names", () => {
    const missing: string[] = [];
    let asked = 0;
    for (const path of sources("src")) {
      const source = readFileSync(path, "utf8");
      const spaces = [...source.matchAll(/useTranslation\(\s*"(\w+)"/g)].map(([, name]) => name as string);
      // A function that is given its `t` may speak for any feature.
      const own = /useTranslation\(/.test(source) ? [...spaces, "common"] : [...tables.keys()];
      for (const argument of firstArguments(source)) {
        // Of `a ? "x" : "y"` both are keys; what is compared with is none, and a key put together is not checked.
        const plain = argument.replace(/`[^`]*`/g, "").replace(/[=!]==\s*"[^"]*"/g, "");
        for (const [, literal] of plain.matchAll(/"([\w:.-]+)"/g)) {
          asked++;
          const parts = (literal as string).split(":");
          const key = parts.at(-1) as string;
          const where = parts.length > 1 ? [parts[0] as string] : own;
          const known = where.some((space) =>
            [...(tables.get(space)?.en.keys() ?? [])].some((name) => base(name) === key),
          );
          if (!known) missing.push(`${path}: ${literal}`);
        }
      }
    }
    expect(missing).toEqual([]);
    expect(asked).toBeGreaterThan(100);
  });

  it("are all used", () => {
    const text = sources("src")
      .filter((path) => !/locale\.ts$|common\.ts$|catalog-words\.ts$/.test(path))
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
    const unused: string[] = [];
    for (const [name, { en }] of tables) {
      for (const key of en.keys()) {
        const whole = base(key);
        const stem = whole.includes(".") ? whole.slice(0, whole.indexOf(".")) : null;
        // A key may be put together: t(`state.${status}`).
        const used =
          text.includes(`"${whole}"`) ||
          text.includes(`:${whole}"`) ||
          (stem !== null && mentions(text, stem));
        if (!used) unused.push(`${name}:${key}`);
      }
    }
    expect(unused).toEqual([]);
  });
});

/** Whether the source puts keys together that begin with `stem`. */
function mentions(text: string, stem: string): boolean {
  return text.includes(`${stem}.\${`) || text.includes(`\`${stem}.`) || text.includes(`:${stem}.`);
}
