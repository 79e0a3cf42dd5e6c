// Where a text stops being JSON. Browsers say that it is none, not always where.

// Runs of plain letters are taken at once: a long text must not cost a step of its own for each.
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: texts must not hold them
  /\s*(?:([{}[\],:])|("[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)))/y;

type Wanted = "value" | "valueOrEnd" | "key" | "keyOrEnd" | "colon" | "more" | "end";

/** The offset of the first letter that does not belong there; the text's length when it ends too early. */
export function jsonFaultAt(text: string): number {
  const inside: ("{" | "[")[] = [];
  let wanted: Wanted = "value";
  let at = 0;
  const after = (): Wanted => (inside.length === 0 ? "end" : "more");
  for (;;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    const start = found === null ? skipSpace(text, at) : TOKEN.lastIndex - (found[0].trimStart().length || 0);
    if (found === null) return start;
    const [, mark, string] = found;
    if (mark === "{" || mark === "[") {
      if (wanted !== "value" && wanted !== "valueOrEnd") return start;
      inside.push(mark);
      wanted = mark === "{" ? "keyOrEnd" : "valueOrEnd";
    } else if (mark === "}" || mark === "]") {
      const open = mark === "}" ? "{" : "[";
      const empty = mark === "}" ? "keyOrEnd" : "valueOrEnd";
      if (inside.at(-1) !== open || (wanted !== "more" && wanted !== empty)) return start;
      inside.pop();
      wanted = after();
    } else if (mark === ":") {
      if (wanted !== "colon") return start;
      wanted = "value";
    } else if (mark === ",") {
      if (wanted !== "more") return start;
      wanted = inside.at(-1) === "{" ? "key" : "value";
    } else if (string !== undefined && (wanted === "key" || wanted === "keyOrEnd")) {
      wanted = "colon";
    } else {
      if (wanted !== "value" && wanted !== "valueOrEnd") return start;
      wanted = after();
    }
    at = TOKEN.lastIndex;
  }
}

function skipSpace(text: string, at: number): number {
  let place = at;
  while (place < text.length && /\s/.test(text[place] ?? "")) place += 1;
  return place;
}

/** Line and column, from 1. */
export function placeIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
