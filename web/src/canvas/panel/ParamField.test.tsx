import { act, fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ParamDefinition } from "../../api/types";
import { catalog, definition, graph, node, param } from "../model/testing";
import { EditorContext, useGraph } from "../store/editor";
import { createGraphStore, documentOf } from "../store/graph-store";
import { ParamField } from "./ParamField";

function show(field: ParamDefinition, value?: unknown) {
  const store = createGraphStore(
    "t",
    graph([node("n", "N", value === undefined ? {} : { [field.name]: value })]),
    null,
  );
  // biome-ignore lint/correctness/noComponentHookFactories: it reads the store of this one test
  const Live = () => {
    const live = useGraph((state) => documentOf(state).nodes[0]);
    return live === undefined ? null : <ParamField nodes={[live]} param={field} />;
  };
  render(
    <EditorContext
      value={{ store, catalog: new Map([...catalog, ["N", definition("N", { params: [field] })]]) }}
    >
      <Live />
    </EditorContext>,
  );
  return { params: () => documentOf(store.getState()).nodes[0]?.data.params, store };
}

function type(name: string, text: string) {
  const input = screen.getByRole("textbox", { name });
  act(() => input.focus());
  fireEvent.change(input, { target: { value: text } });
  fireEvent.blur(input);
}

describe("ParamField", () => {
  it("takes a whole number within its range", () => {
    const { params } = show(param("epochs", "int", { label: "Epochs", default: 10, min: 1, max: 100 }));
    type("Epochs", "25");
    expect(params()).toEqual({ epochs: 25 });
    type("Epochs", "1000");
    expect(params()).toEqual({ epochs: 100 });
  });

  it("keeps small fractions as they are typed", () => {
    const { params } = show(
      param("lr", "float", { label: "Rate", default: 0.001, min: 0, exclusive_min: true }),
    );
    type("Rate", "0.00025");
    expect(params()).toEqual({ lr: 0.00025 });
  });

  it("refuses an excluded bound and says the range", () => {
    const { params } = show(
      param("lr", "float", { label: "Rate", default: 0.5, min: 0, exclusive_min: true, max: 10 }),
    );
    type("Rate", "0");
    expect(params()).toEqual({});
    expect(screen.getByText(/Above 0, up to 10/)).toBeDefined();
  });

  it("empties an optional number to null and leaves a required one", () => {
    const optional = show(param("clip", "float", { label: "Clip", default: null, optional: true }), 3);
    type("Clip", "");
    expect(optional.params()).toEqual({ clip: null });
  });

  it("shows the range and the meaning while it has the focus", () => {
    show(param("epochs", "int", { label: "Epochs", default: 10, min: 1, max: 10000, doc: "How often." }));
    expect(screen.queryByText("1 to 10,000. How often.")).toBeNull();
    act(() => screen.getByRole("textbox", { name: "Epochs" }).focus());
    expect(screen.getByText("1 to 10,000. How often.")).toBeDefined();
  });

  it("switches a truth value, and back to the default", () => {
    const { params } = show(param("shuffle", "bool", { label: "Shuffle", default: true }));
    fireEvent.click(screen.getByRole("switch", { name: "Shuffle" }));
    expect(params()).toEqual({ shuffle: false });
    fireEvent.click(screen.getByRole("button", { name: "Set Shuffle back to its default" }));
    expect(params()).toEqual({});
  });

  it("offers few short choices side by side", () => {
    const choices = [
      { value: 1, label: "one" },
      { value: 2, label: "two" },
    ];
    const { params } = show(param("kind", "choice", { label: "Kind", default: 1, choices }));
    fireEvent.click(screen.getByRole("radio", { name: "two" }));
    expect(params()).toEqual({ kind: 2 });
  });

  it("shows the server's problem with the value", () => {
    const { store } = show(param("epochs", "int", { label: "Epochs", default: 10 }), 0);
    act(() =>
      store.getState().set({
        problems: [
          {
            message: "n.epochs: at least 1; got 0.",
            code: "param_invalid",
            node_id: "n",
            params: { param: "epochs" },
          },
        ],
      }),
    );
    expect(screen.getByText("n.epochs: at least 1; got 0.")).toBeDefined();
  });
});
