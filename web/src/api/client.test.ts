import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiProblem, api, artifactUrl, logUrl } from "./client";

function answer(status: number, body: unknown, type = "application/json"): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "Content-Type": type } });
}

describe("the HTTP client", () => {
  const fetched = vi.fn<typeof fetch>();
  vi.stubGlobal("fetch", fetched);
  afterEach(() => fetched.mockReset());

  it("gives a problem's code, params and problems", async () => {
    const problems = [{ message: "m", code: "graph_cycle", node_id: null, params: {} }];
    fetched.mockImplementation(async () =>
      answer(400, {
        title: "Bad Request",
        status: 400,
        detail: "The graph has 1 problem.",
        code: "invalid_graph",
        params: { count: 1 },
        problems,
      }),
    );
    const error = await api.submitRun({ graph: {} }).catch((problem: unknown) => problem);
    expect(error).toBeInstanceOf(ApiProblem);
    expect(error).toMatchObject({
      status: 400,
      code: "invalid_graph",
      message: "The graph has 1 problem.",
      params: { count: 1 },
      problems,
    });
  });

  it("words an answer that is not from Codefy", async () => {
    fetched.mockImplementation(async () => answer(502, "<html>Bad gateway</html>", "text/html"));
    await expect(api.health()).rejects.toMatchObject({ status: 502, code: "unexpected_answer" });
  });

  it("says that nobody answers", async () => {
    fetched.mockRejectedValue(new TypeError("Failed to fetch"));
    await expect(api.health()).rejects.toMatchObject({ status: 0, code: "unreachable" });
  });

  it("leaves an abort what it is", async () => {
    fetched.mockRejectedValue(new DOMException("aborted", "AbortError"));
    await expect(api.health()).rejects.toMatchObject({ name: "AbortError" });
  });

  it("writes queries and bodies as the server reads them", async () => {
    fetched.mockImplementation(async () => answer(200, { runs: [] }));
    await api.runs({ limit: 5, status: null, cursor: "a b" });
    expect(fetched.mock.lastCall?.[0]).toBe("/api/runs?limit=5&cursor=a+b");
    await api.saveGraph("a/b", { nodes: [] }, 3);
    expect(fetched.mock.lastCall?.[0]).toBe("/api/graphs/a%2Fb");
    expect(fetched.mock.lastCall?.[1]).toMatchObject({
      method: "PUT",
      body: '{"graph":{"nodes":[]},"base_revision":3}',
    });
  });

  it("knows where files are", () => {
    expect(artifactUrl("r 1", 2, true)).toBe("/api/runs/r%201/artifacts/2/content?download=1");
    expect(logUrl("r", 0)).toBe("/api/runs/r/log");
    expect(logUrl("r", 10)).toBe("/api/runs/r/log?from=10");
  });
});
