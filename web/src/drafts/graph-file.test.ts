import { describe, expect, it } from "vitest";
import { graph, node } from "../canvas/model/testing";
import { graphText, MOST_BYTES, readGraphFile, readGraphText, unknownTypes } from "./graph-file";
import { jsonFaultAt, placeIn } from "./json-fault";
import { cleanName, freeName, graphNameFault } from "./names";

const fault = (text: string) => {
  const found = readGraphText(text, "x");
  return "fault" in found ? found.fault : null;
};

describe("a file from outside", () => {
  it("is a graph: what it holds comes back as it was", () => {
    const doc = graph([node("a", "audio.Mel", { bins: 80 })], [], { note: { kept: true } });
    const found = readGraphText(`\uFEFF${graphText(doc)}`, "mine");
    expect(found).toEqual({ doc, name: "mine" });
    expect([...unknownTypes(doc, (type) => type !== "audio.Mel")]).toEqual([["audio.Mel", 1]]);
  });

  it.each([
    ["", "empty"],
    ["  \n", "empty"],
    ["{", "notJson"],
    ["epochs, loss\n1, 2", "notJson"],
    ["5", "noNodes"],
    ["null", "noNodes"],
    ["[]", "noNodes"],
    ['{"a": 1}', "noNodes"],
    ['{"nodes": 3}', "noNodes"],
    ['{"nodes": [5]}', "badPart"],
    ['{"nodes": [], "edges": [{"source": "a"}]}', "badPart"],
    ['{"nodes": [], "subgraphs": {"s": 1}}', "badPart"],
    ['{"format_version": 9, "nodes": []}', "tooNew"],
    ['{"run_id": "r1", "status": "succeeded", "graph": {"nodes": []}}', "runExport"],
    ['{"events": [], "next_cursor": 5}', "runExport"],
    ['[{"cursor": 1, "type": "run_started", "payload": {}}]', "events"],
    ['{"preset": {"nodes": []}, "revision": 1}', "preset"],
  ])("is told apart: %s", (text, expected) => expect(fault(text)).toBe(expected));

  it("names the run and the place", () => {
    expect(readGraphText('{"run_id": "r1", "status": "failed"}', "x")).toMatchObject({ runId: "r1" });
    expect(readGraphText('{\n  "nodes": [,]\n}', "x")).toMatchObject({ params: { line: 2 } });
    expect(readGraphText('{"nodes": [{"id": "a", "type": "T"}, {"id": 5}]}', "x")).toMatchObject({
      params: { at: "nodes[1]" },
    });
  });

  it("is not read when it is too large, and is named after the file", async () => {
    const large = new File(["x"], "big.json");
    Object.defineProperty(large, "size", { value: MOST_BYTES + 1 });
    large.text = () => Promise.reject(new Error("read"));
    expect(await readGraphFile(large)).toMatchObject({ fault: "tooLarge" });
    const small = new File(['{"nodes": []}'], "My net.codefy.json");
    expect(await readGraphFile(small)).toMatchObject({ name: "My net" });
  });
});

describe("jsonFaultAt", () => {
  it.each([
    ["{", 1],
    ['{"a": [1, 2,]}', 12],
    ['{"a" 1}', 5],
    ['{"a": 1 "b"}', 8],
    ["[1 2]", 3],
    ["{a: 1}", 1],
    ['{"a": 01}', 6],
    ['["a\nb"]', 1],
    ["[true false]", 6],
    ["{} x", 3],
    ["]", 0],
    ['{"a": NaN}', 6],
  ])("%s", (text, offset) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(jsonFaultAt(text)).toBe(offset);
  });

  it("counts lines and columns from 1", () => {
    expect(placeIn("ab\ncd", 0)).toEqual({ line: 1, column: 1 });
    expect(placeIn("ab\ncd", 4)).toEqual({ line: 2, column: 2 });
  });
});

describe("names of graphs", () => {
  it.each([
    ["digits", null],
    ["數字 圖", null],
    ["", "empty"],
    [" a", "edges"],
    [".a", "edges"],
    ["a.", "edges"],
    ["a/b", "letters"],
    ["a\u0000b", "letters"],
    ["x".repeat(101), "long"],
    ["字".repeat(70), "long"],
  ])("%s", (name, expected) => expect(graphNameFault(name)).toBe(expected));

  it("from files are made such that the server takes them", () => {
    expect(cleanName("../a:b?.")).toBe("a b");
    expect(freeName("net", ["net", "net-2"])).toBe("net-3");
    expect(freeName("...", [])).toBe("graph");
    for (const name of ["字".repeat(90), "x".repeat(300), " . ", "a/\u0007b"]) {
      expect(graphNameFault(freeName(name, []))).toBeNull();
    }
  });
});
