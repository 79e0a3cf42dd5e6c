import { afterEach, describe, expect, it, vi } from "vitest";
import { api } from "./client";
import { presence } from "./presence";

const answer = (status: number, body: unknown) =>
  Promise.resolve(new Response(JSON.stringify(body), { status }));

describe("whether the server answers", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
    presence.heard();
  });

  it("keeps the time of the last answer until there is another", async () => {
    vi.useFakeTimers({ now: 1_000_000 });
    vi.stubGlobal("fetch", () => answer(200, { workers: [] }));
    await api.workers();
    expect(presence.get()).toMatchObject({ awaySince: null, admitted: true });
    vi.setSystemTime(1_060_000);
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed to fetch")));
    await expect(api.workers()).rejects.toMatchObject({ code: "unreachable" });
    vi.setSystemTime(1_090_000);
    await expect(api.workers()).rejects.toMatchObject({ code: "unreachable" });
    expect(presence.get().awaySince).toBe(1000);
    // A refusal is an answer.
    vi.stubGlobal("fetch", () => answer(404, { code: "not_found", detail: "no" }));
    await expect(api.workers()).rejects.toMatchObject({ status: 404 });
    expect(presence.get().awaySince).toBe(null);
  });

  it("does not take a question withdrawn for a missing answer", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new DOMException("gone", "AbortError")));
    await expect(api.workers()).rejects.toThrow("gone");
    expect(presence.get().awaySince).toBe(null);
  });

  it("knows that the token is missing, whatever the public health says, until the server lets it in", async () => {
    vi.stubGlobal("fetch", () => answer(401, { code: "token_required", detail: "open the link" }));
    await expect(api.workers()).rejects.toMatchObject({ status: 401 });
    vi.stubGlobal("fetch", () => answer(200, {}));
    await api.health();
    expect(presence.get().locked).toEqual({ code: "token_required", message: "open the link" });
    await api.workers();
    expect(presence.get().locked).toBe(null);
  });
});
