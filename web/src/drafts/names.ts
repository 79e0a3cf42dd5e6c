// Names of graphs, as the server takes them.

export const MOST_LETTERS = 100;
const MOST_BYTES = 200;
const FORBIDDEN = /[/\\:*?"<>|]/;

export type NameFault = "empty" | "edges" | "letters" | "long";

/** Why the server would not take a name; `null` for one that it takes. */
export function graphNameFault(name: string): NameFault | null {
  if (name === "") return "empty";
  if (name !== name.trim() || name.startsWith(".") || name.endsWith(".")) return "edges";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (FORBIDDEN.test(name) || /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) return "letters";
  return name.length > MOST_LETTERS || bytes(name) > MOST_BYTES ? "long" : null;
}

/** The nearest name that the server takes, for one from a file. */
export function cleanName(text: string): string {
  const plain = text
    .normalize("NFC")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .replace(/[/\\:*?"<>|\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .replace(/\s+/g, " ");
  let name = plain.replace(/^[.\s]+/, "");
  // Room for a number behind it.
  while (name.length > MOST_LETTERS - 5 || bytes(name) > MOST_BYTES - 5)
    name = [...name].slice(0, -1).join("");
  return name.replace(/[.\s]+$/, "");
}

/** The name, or the name with a number when there is one like it. */
export function freeName(wanted: string, taken: readonly string[]): string {
  const name = cleanName(wanted) || "graph";
  if (!taken.includes(name)) return name;
  for (let count = 2; ; count += 1) {
    const numbered = `${name}-${count}`;
    if (!taken.includes(numbered)) return numbered;
  }
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
