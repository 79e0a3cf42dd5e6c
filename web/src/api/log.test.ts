import { describe, expect, it } from "vitest";
import { LogBuffer } from "./log";

const encode = (text: string) => new TextEncoder().encode(text);

describe("the log buffer", () => {
  it("joins lines and characters that were cut by a chunk's border", () => {
    const bytes = encode("first\n損失 0.5\nlast");
    for (let cut = 0; cut <= bytes.length; cut++) {
      const log = new LogBuffer();
      log.push(bytes.slice(0, cut));
      log.push(bytes.slice(cut));
      expect(log.view().lines).toEqual(["first", "損失 0.5", "last"]);
      expect(log.bytes).toBe(bytes.length);
    }
  });

  it("shows an unfinished line and goes on with it", () => {
    const log = new LogBuffer();
    log.push(encode("epoch 1"));
    expect(log.view().lines).toEqual(["epoch 1"]);
    log.push(encode(" done\n"));
    expect(log.view().lines).toEqual(["epoch 1 done"]);
  });

  it("shows of a progress bar what a terminal would show", () => {
    const log = new LogBuffer();
    log.push(encode("10%\r50%\r100%\nwindows\r\n\u001b[31mred\u001b[0m\n"));
    expect(log.view().lines).toEqual(["100%", "windows", "red"]);
  });

  it("forgets the oldest lines and says how many", () => {
    const log = new LogBuffer(3);
    log.push(encode("1\n2\n3\n4\n5\n"));
    expect(log.view()).toMatchObject({ lines: ["3", "4", "5"], dropped: 2 });
  });
});
