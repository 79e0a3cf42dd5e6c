// What the server says of a graph while it is edited: its problems, and the shapes on its wires.
import { ApiProblem, api } from "../../api";
import type { GraphProblem } from "../../api/types";
import { NO_SHAPES, sameMeaning, shapeBook } from "../model/shapes";
import { documentOf, type GraphStore } from "./graph-store";

const CHECK_AFTER_MS = 250;

/**
 * Asks the server about the document, now and after each change, until the answer is called. A question about a
 * document that has changed meanwhile is given up. The shapes take longer than the problems and come second.
 */
export function keepChecked(store: GraphStore): () => void {
  let timer = 0;
  let abort = new AbortController();

  const check = async () => {
    abort.abort();
    abort = new AbortController();
    const { signal } = abort;
    const doc = documentOf(store.getState());
    const tell = (change: Parameters<ReturnType<GraphStore["getState"]>["set"]>[0]) => {
      if (!signal.aborted) store.getState().set(change);
    };
    if (doc.nodes.length === 0) {
      tell({ problems: [], checked: true, shapes: NO_SHAPES });
      return;
    }
    try {
      const validation = await api.validateGraph(doc, signal);
      tell({ problems: validation.problems, checked: true });
      const shapes = await api.graphShapes(doc, signal);
      tell({ problems: together(validation.problems, shapes.problems), shapes: shapeBook(shapes) });
    } catch (error) {
      // A document that cannot even be read has its problems in the refusal itself.
      const problems = error instanceof ApiProblem ? error.problems : [];
      if (problems.length > 0) tell({ problems, checked: true, shapes: NO_SHAPES });
      else if (!store.getState().checked) tell({ problems: [], shapes: NO_SHAPES });
      else tell({ shapes: NO_SHAPES });
    }
  };

  const unsubscribe = store.subscribe((state, before) => {
    if (documentOf(state) === documentOf(before)) return;
    if (sameMeaning(documentOf(state), documentOf(before)) && before.checked) {
      // Only places changed: what was said still holds.
      if (!state.checked) state.set({ checked: true });
      return;
    }
    // Wires that were told a shape may carry another now; the question under way is about an older graph.
    abort.abort();
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void check(), CHECK_AFTER_MS);
  });
  void check();
  return () => {
    abort.abort();
    window.clearTimeout(timer);
    unsubscribe();
  };
}

/** Both lists without repeats: the shapes repeat the graph's problems when it cannot be planned. */
function together(first: readonly GraphProblem[], second: readonly GraphProblem[]): GraphProblem[] {
  const said = new Set(first.map((problem) => `${problem.node_id} ${problem.code} ${problem.message}`));
  return [
    ...first,
    ...second.filter((problem) => !said.has(`${problem.node_id} ${problem.code} ${problem.message}`)),
  ];
}
