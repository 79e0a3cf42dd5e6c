"""Looking into what nodes gave: numbers at an index, what went in before, NaN, and the steps of a training."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Page, expect

from codefy_control_plane.testing import ControlPlane

from .conftest import ROOT, OpenPage
from .test_canvas import node, set_epochs, until_drawn

pytestmark = [pytest.mark.web, pytest.mark.timeout(300)]


def graph_node(name: str, kind: str, x: int, **params: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "position": {"x": x, "y": 0}, "data": {"params": params}}


LOGARITHMS: dict[str, Any] = {
    "format_version": 1,
    "name": "logs",
    "nodes": [
        graph_node("numbers", "TensorByHand", 0, values=[[[1, 4], [9, -1]], [[16, 25], [36, 49]]]),
        graph_node("roots", "TensorFunction", 300, function="sqrt"),
    ],
    "edges": [{"source": "numbers", "sourceHandle": "tensor", "target": "roots", "targetHandle": "x"}],
}


async def run_here(page: Page, last: str) -> None:
    await page.get_by_role("button", name="Run here").first.click()
    await expect(node(page, last, "succeeded")).to_be_visible()


async def test_an_output_is_looked_into(server: ControlPlane, open_page: OpenPage) -> None:
    await server.client.request(
        "PUT", "/api/graphs/logs", body=json.dumps({"graph": LOGARITHMS}).encode("utf-8")
    )
    page = await open_page("/graphs/logs")
    await run_here(page, "Function")
    await node(page, "Function").click()
    panel = page.get_by_role("complementary", name="Selected node")
    await panel.get_by_role("tab", name="Outputs").click()

    # After: the square roots, one of them of a number below 0, which is told first.
    values = panel.get_by_role("table", name="Values of y")
    await expect(values.get_by_role("cell").filter(has_text="3")).to_be_visible()
    await expect(values.get_by_role("cell").filter(has_text="NaN")).to_be_visible()
    about = panel.locator(".statistics")
    await expect(about.get_by_text("NaN")).to_be_visible()
    await expect(about.locator("dd").first).to_have_text("1")
    await expect(panel.get_by_role("img", name="Histogram of y")).to_be_visible()

    # At the other index there is none.
    index = panel.get_by_role("textbox", name="Index in dimension 0")
    await index.fill("1")
    await index.press("Enter")
    await expect(values.get_by_role("cell").filter(has_text="7")).to_be_visible()
    await expect(values.get_by_role("cell").filter(has_text="NaN")).to_have_count(0)

    # Before: what the wire brought, with the node that it comes from.
    await panel.get_by_role("radio", name="Inputs").click()
    await expect(panel.get_by_text("from Tensor by hand, tensor")).to_be_visible()
    given = panel.get_by_role("table", name="Values of x").get_by_role("row").nth(1)
    await expect(given.get_by_role("cell").first).to_have_text("1")


async def test_the_steps_of_a_training_are_drawn(open_page: OpenPage) -> None:
    page = await open_page("/graphs/digits-cnn")
    await set_epochs(page, {"epochs": "Epochs", "saved": "Saved · revision"}, 1)
    await run_here(page, "Training loop")
    panel = page.get_by_role("complementary", name="Selected node")
    await panel.get_by_role("tab", name="Outputs").click()
    await panel.get_by_role("radio", name="Steps").click()
    await until_drawn(page, "norm")
    await panel.get_by_role("radio", name="Gradients").click()
    # The last gradient of the first convolution: 3 by 3 numbers of each of its kernels.
    gradient = panel.get_by_role("table", name="Values of conv1.weight")
    await expect(gradient.get_by_role("row")).to_have_count(4)


async def test_run_to_here_leaves_the_rest_alone(server: ControlPlane, open_page: OpenPage) -> None:
    graph = json.loads((ROOT / "examples" / "digits-cnn.json").read_text("utf-8"))
    await server.client.request("PUT", "/api/graphs/part", body=json.dumps({"graph": graph}).encode("utf-8"))
    page = await open_page("/graphs/part")
    await node(page, "Split").click()
    await page.get_by_role("button", name="Run to here").click()
    await expect(node(page, "Split", "succeeded")).to_be_visible()
    await expect(page.get_by_role("button", name="Run here")).to_be_visible()
    await expect(node(page, "Evaluate")).not_to_have_accessible_name("Evaluate, queued, 2 of 3 inputs wired")
    (run,) = (await server.client.runs()).runs
    assert (await server.client.run(run.run_id)).options.until_node == "split"

    # Another browser finds the run again without having started it.
    other = await open_page("/graphs/part")
    await expect(node(other, "Split", "succeeded")).to_be_visible()
