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
    expect(wordReason("zh-Hant", reason)).toBe("fc（Linear）沒有 輸入 埠「y」。它有：x, w。");
  });

  it.each([
    ["expected a number above 0 and of at most 10", "應為數字，大於 0，最多 10"],
    ["expected a whole number from 1 to 512, or nothing", "應為整數，從 1 到 512，或留空"],
    ["expected one of digits, wine", "應為其中之一：digits, wine"],
    ["expected true or false", "應為真或假"],
    ["expected a number of at least 0", "應為數字，至少 0"],
    ["cannot be divided", "cannot be divided"],
  ])("words what a parameter takes: %s", (detail, words) => {
    const params = { node_id: "opt", param: "lr", detail, value: "11" };
    const problem = { code: "param_invalid", message: "", params };
    expect(wordReason("zh-Hant", problem)).toBe(`opt.lr：${words}；目前是 11。`);
  });

  it("words how a process ended", () => {
    const died = { code: "child_died", message: "", params: { how: "killed by SIGKILL" } };
    expect(wordReason("zh-Hant", died)).toBe("執行的程序沒有回報就結束了：被 SIGKILL 終止。");
  });

  it("keeps the server's sentence in English and for unknown codes", () => {
    expect(wordReason("en", reason)).toBe("a.b");
    expect(wordReason("zh-Hant", { code: "new_code", message: "Something new." })).toBe("Something new.");
  });
});
