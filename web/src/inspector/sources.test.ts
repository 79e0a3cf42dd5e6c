import { describe, expect, it } from "vitest";
import { inputsOf, keptOf, sourceOf } from "./sources";
import type { OutputList } from "./types";

const list: OutputList = {
  run_id: "r",
  kept: true,
  outputs: [
    { node_id: "block/relu", port: "y", type: "tensor", facts: {}, size: 4 },
    { node_id: "data", port: "tensor", type: "tensor", facts: {}, size: 4 },
  ],
  inputs: {
    print: { value: { node_id: "block", port: "out" }, second: { node_id: "data", port: "tensor" } },
  },
  origins: { block: { out: { node_id: "block/relu", port: "y" } } },
};

describe("sources", () => {
  it("follow a preset's port to the node inside that gives it", () => {
    expect(sourceOf(list, "block", "out")).toEqual({ node_id: "block/relu", port: "y" });
    expect(sourceOf(list, "data", "tensor")).toEqual({ node_id: "data", port: "tensor" });
    expect(inputsOf(list, "print").map(({ source }) => source.node_id)).toEqual(["block/relu", "data"]);
  });

  it("tell what is kept, and nothing without a list", () => {
    expect(keptOf(list, sourceOf(list, "block", "out"))?.node_id).toBe("block/relu");
    expect(keptOf(list, { node_id: "gone", port: "y" })).toBeUndefined();
    expect(inputsOf(undefined, "print")).toEqual([]);
  });
});
