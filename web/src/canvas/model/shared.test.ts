import { describe, expect, it } from "vitest";
import { sharedParams } from "./shared";
import { definition, node, param } from "./testing";

const rate = param("lr", "float", { default: 0.1, min: 0 });
const table = new Map([
  ["Adam", definition("Adam", { params: [rate, param("betas", "float")] })],
  ["SGD", definition("SGD", { params: [param("momentum", "float"), rate] })],
  ["Other", definition("Other", { params: [param("lr", "float", { default: 0.1, min: 0, max: 1 })] })],
  [
    "When",
    definition("When", {
      params: [
        param("on", "bool", { default: false }),
        { ...rate, visible_if: { param: "on", equals: [true] } },
      ],
    }),
  ],
]);
const shared = (...types: string[]) =>
  sharedParams(
    types.map((type, at) => node(`n${at}`, type)),
    (one) => table.get(one.type),
  ).map((one) => one.name);

describe("sharedParams", () => {
  it("are those of the same name and meaning", () => {
    expect(shared("Adam", "SGD")).toEqual(["lr"]);
    expect(shared("Adam", "Adam")).toEqual(["lr", "betas"]);
    expect(shared("Adam", "Other")).toEqual([]);
  });

  it("leave out what one of the nodes does not show, and all when one is not known", () => {
    expect(shared("Adam", "When")).toEqual([]);
    expect(shared("Adam", "Gone")).toEqual([]);
    expect(shared()).toEqual([]);
  });
});
