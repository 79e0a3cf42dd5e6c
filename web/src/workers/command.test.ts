import { describe, expect, it } from "vitest";
import { shellWord, startCommand } from "./command";

describe("the command that starts a worker", () => {
  it("can be pasted", () => {
    expect(startCommand("http://127.0.0.1:8000", "/home/ada/.codefy/session-token", "w1")).toBe(
      "codefy-agent start --control http://127.0.0.1:8000 --token-file /home/ada/.codefy/session-token --name w1",
    );
  });

  it("keeps paths with spaces and quotes one word", () => {
    expect(shellWord("/Users/ada/Library/Application Support/codefy")).toBe(
      "'/Users/ada/Library/Application Support/codefy'",
    );
    expect(shellWord("a'b")).toBe("'a'\\''b'");
  });
});
