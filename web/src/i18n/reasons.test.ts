import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { wordReason } from "./reasons";
import words from "./reasons-locale";

const MADE_HERE = ["unreachable", "unexpected_answer", "connection_lost"];

function protocolReasons(): Map<string, string> {
  const source = readFileSync("../packages/protocol/src/codefy_protocol/reasons.py", "utf8");
  const found = new Map<string, string>();
  for (const [, code, texts] of source.matchAll(/register\(\s*"(\w+)",\s*((?:"[^"]*"\s*)+)/g)) {
    found.set(code as string, [...(texts as string).matchAll(/"([^"]*)"/g)].map(([, text]) => text).join(""));
  }
  return found;
}

function fields(template: string): string[] {
  return [...template.matchAll(/\{(\w+)/g)].map(([, name]) => name as string);
}

describe("reasons in Traditional Chinese", () => {
  const protocol = protocolReasons();

  it("words every code of the protocol, and no other", () => {
    expect(protocol.size).toBeGreaterThan(50);
    expect(
      Object.keys(words)
        .filter((code) => !MADE_HERE.includes(code))
        .sort(),
    ).toEqual([...protocol.keys()].sort());
  });

  it("uses only parameters that the reason has", () => {
    for (const [code, template] of Object.entries(words)) {
      if (MADE_HERE.includes(code)) continue;
      expect(fields(protocol.get(code) ?? ""), code).toEqual(expect.arrayContaining(fields(template)));
    }
  });
});

describe("wordReason", () => {
  const reason = {
    code: "unknown_port",
    message: "a.b",
    params: { node_id: "fc", type: "Linear", direction: "input", port: "y", ports: ["x", "w"] },
  };

  it("fills in parameters, lists with commas", () => {
    expect(wordReason("zh-Hant", reason)).toBe("fc（Linear）沒有 input 埠「y」。它有：x, w。");
  });

  it("keeps the server's sentence in English and for unknown codes", () => {
    expect(wordReason("en", reason)).toBe("a.b");
    expect(wordReason("zh-Hant", { code: "new_code", message: "Something new." })).toBe("Something new.");
  });
});
