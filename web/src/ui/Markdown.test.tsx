import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { Markdown } from "./Markdown";

describe("Markdown", () => {
  it("draws headings, lists, code and tables", () => {
    render(
      <Markdown
        text={"Summary\n\n## Shapes\n\n- `n x 10`\n- **bold**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"}
      />,
    );
    expect(screen.getByRole("heading", { name: "Shapes" })).toBeDefined();
    expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["n x 10", "bold"]);
    expect(screen.getAllByRole("cell").map((cell) => cell.textContent)).toEqual(["1", "2"]);
  });

  it("shows markup as text and makes no element of it", () => {
    const { container } = render(
      <Markdown text={'<script>alert(1)</script>\n\nHello <img src=x onerror="alert(1)"> `a < b && c`'} />,
    );
    expect(container.querySelector("script, img")).toBeNull();
    expect(container.textContent).toContain("alert(1)");
    expect(container.querySelector("code")?.textContent).toBe("a < b && c");
  });

  it("links only to web pages", () => {
    render(
      <Markdown
        text={"[paper](https://example.org/x) [bad](javascript:alert(1)) [file](file:///etc/passwd)"}
      />,
    );
    expect(screen.getAllByRole("link").map((link) => link.getAttribute("href"))).toEqual([
      "https://example.org/x",
    ]);
  });
});
