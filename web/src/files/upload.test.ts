import { describe, expect, it, vi } from "vitest";
import { ApiProblem, api } from "../api";
import { crumbs, nameFault, parentOf } from "./paths";
import { PART_BYTES, uploadFile } from "./upload";

const entry = { name: "a.bin", path: "a.bin", kind: "file", size: 0, modified_at: 0, media_type: "" };

/** A server that keeps what it gets, and fails as told before each part. */
function server(total: number, ...faults: (ApiProblem | null)[]) {
  let here = 0;
  const starts: number[] = [];
  vi.spyOn(api, "uploadPart").mockImplementation(async (_, part) => {
    starts.push(part.start);
    const fault = faults.shift();
    if (fault) throw fault;
    if (part.start !== here) {
      throw new ApiProblem({ status: 409, code: "upload_offset", message: "", params: { offset: here } });
    }
    here += part.bytes.size;
    return { received: here, file: here === total ? entry : null };
  });
  return { starts, begin: (bytes: number) => (here = bytes) };
}

const file = (size: number) => new File([new Uint8Array(size)], "資料 1.bin", { lastModified: 5 });
const away = () => new ApiProblem({ status: 0, code: "unreachable", message: "" });

describe("uploadFile", () => {
  it("sends parts one after the other and tells how far it is", async () => {
    const size = 2 * PART_BYTES + 10;
    const { starts } = server(size);
    const told: number[] = [];
    expect(await uploadFile(file(size), "a.bin", { onProgress: (sent) => told.push(sent) })).toBe(entry);
    expect(starts).toEqual([0, PART_BYTES, 2 * PART_BYTES]);
    expect(told).toEqual([PART_BYTES, 2 * PART_BYTES, size]);
  });

  it("goes on where the server is, after a lost connection and in a new page", async () => {
    vi.useFakeTimers();
    const size = 3 * PART_BYTES;
    const { starts, begin } = server(size, null, away());
    begin(PART_BYTES);
    const sending = uploadFile(file(size), "a.bin");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await sending).toBe(entry);
    expect(starts).toEqual([0, PART_BYTES, PART_BYTES, 2 * PART_BYTES]);
    vi.useRealTimers();
  });

  it("gives up in the end and says why", async () => {
    vi.useFakeTimers();
    const { starts } = server(10, ...Array.from({ length: 9 }, away));
    const sending = uploadFile(file(10), "a.bin").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await sending).toMatchObject({ code: "unreachable" });
    expect(starts).toHaveLength(6);
    vi.useRealTimers();
  });

  it("tells a refusal at once", async () => {
    const refusal = new ApiProblem({ status: 409, code: "file_exists", message: "" });
    server(10, refusal);
    await expect(uploadFile(file(10), "a.bin")).rejects.toBe(refusal);
  });
});

describe("paths", () => {
  it("know the folders on the way", () => {
    expect(crumbs("a/b 貓")).toEqual([
      { name: "a", path: "a" },
      { name: "b 貓", path: "a/b 貓" },
    ]);
    expect([parentOf("a/b/c"), parentOf("c")]).toEqual(["a/b", ""]);
  });

  it.each([
    ["cats", null],
    ["貓", null],
    [" ", "empty"],
    ["a/b", "slash"],
    ["..", "dot"],
    ["字".repeat(100), "long"],
  ])("take names that the server takes: %s", (name, fault) => expect(nameFault(name)).toBe(fault));
});
