import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiProblem, api } from "../../api";
import type { RunDetail, RunList, RunSummary } from "../../api/types";
import { findRun, rememberRun } from "./runs";

afterEach(() => sessionStorage.clear());

const row = (run_id: string, name: string, status: string) =>
  ({ run_id, name, graph_name: "digits", status }) as RunSummary;

const listed = (...runs: RunSummary[]) =>
  vi
    .spyOn(api, "runs")
    .mockResolvedValue({ runs, next_cursor: null, total: runs.length, counts: {} } as RunList);

describe("findRun", () => {
  it("takes the run that this tab showed", async () => {
    rememberRun("mine", "r1");
    vi.spyOn(api, "run").mockResolvedValue({ run_id: "r1" } as RunDetail);
    expect(await findRun("mine")).toBe("r1");
  });

  it("takes one of the graph's own that goes on, else its last", async () => {
    listed(row("r9", "other", "running"), row("r8", "mine", "succeeded"), row("r7", "mine", "running"));
    expect(await findRun("mine")).toBe("r7");
    listed(row("r9", "other", "running"), row("r8", "mine", "failed"), row("r7", "mine", "succeeded"));
    expect(await findRun("mine")).toBe("r8");
    listed(row("r5", "", "running"));
    expect(await findRun("digits")).toBe("r5");
    expect(await findRun("mine")).toBeNull();
  });

  it("forgets a run that is gone", async () => {
    rememberRun("mine", "r1");
    vi.spyOn(api, "run").mockRejectedValue(
      new ApiProblem({ status: 404, code: "run_not_found", message: "" }),
    );
    expect(await findRun("mine")).toBeNull();
    listed();
    expect(await findRun("mine")).toBeNull();
    expect(api.run).toHaveBeenCalledOnce();
  });
});
