"""Editing by mouse and by keyboard: a graph is built from nothing and run, grouped, made a preset of, copied, refused."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from codefy_control_plane.testing import ControlPlane

from .conftest import OpenPage

pytestmark = [pytest.mark.web, pytest.mark.timeout(300)]


def node(page: Page, title: str, state: str | None = None) -> Locator:
    after = "(,|$)" if state is None else f", {state}"
    return page.get_by_role("article", name=re.compile(f"^{re.escape(title)}{after}"))


def port(page: Page, title: str, side: str, name: str) -> Locator:
    return node(page, title).locator(f'.port-{side}[title^="{name}:"]')


async def centre(place: Locator) -> tuple[float, float]:
    box = await place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


async def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    await page.mouse.move(*start)
    await page.mouse.down()
    await page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=3)
    await page.mouse.move(*end, steps=3)


async def add(page: Page, query: str, at: tuple[float, float]) -> None:
    await page.mouse.dblclick(*at)
    search = page.get_by_role("dialog", name="Search nodes")
    await search.get_by_role("combobox").fill(query)
    await search.get_by_role("option").first.click()
    await expect(search).to_have_count(0)


async def wire(page: Page, start: Locator, end: Locator) -> None:
    await drag(page, await centre(start), await centre(end))
    await page.mouse.up()


async def saved(page: Page, name: str) -> dict[str, Any]:
    await expect(page.get_by_text("Saved · revision")).to_be_visible()
    return await page.evaluate(
        "name => fetch(`/api/graphs/${name}`).then((answer) => answer.json()).then((found) => found.graph)",
        name,
    )


def wires(level: dict[str, Any]) -> set[str]:
    return {f"{e['source']}.{e['sourceHandle']}->{e['target']}.{e['targetHandle']}" for e in level["edges"]}


WIRES = {
    "sklearn_dataset.dataset->train_test_split.dataset",
    "train_test_split.train->training_loop.train",
    "train_test_split.test->evaluate.data",
    "module.model->training_loop.model",
    "adam_w.optimizer->training_loop.optimizer",
    "training_loop.model->evaluate.model",
}
LAYERS = {
    "input.x->conv2d.x",
    "conv2d.y->re_lu.x",
    "re_lu.y->max_pool2d.x",
    "max_pool2d.y->flatten.x",
    "flatten.y->linear.x",
    "linear.y->output.x",
}


async def runs_well(page: Page, server: ControlPlane) -> None:
    graph = await saved(page, "built")
    assert wires(graph) == WIRES
    (module,) = graph["subgraphs"].values()
    assert wires(module) == LAYERS
    await expect(page.get_by_role("button", name="No problems")).to_be_visible()
    await page.keyboard.press("Control+Enter")
    for title in ("Training loop", "Evaluate"):
        await expect(node(page, title, "succeeded")).to_be_visible()
    (run,) = (await server.client.runs()).runs
    assert run.status == "succeeded"


async def test_the_digits_network_is_built_from_nothing_with_the_mouse(
    server: ControlPlane, open_page: OpenPage
) -> None:
    page = await open_page("/graphs/built", width=1600, height=1000)
    await expect(page.get_by_role("heading", name="An empty canvas")).to_be_visible()
    await page.get_by_role("button", name="Add node").last.click()
    await page.get_by_role("combobox").fill("built")
    await page.get_by_role("option").first.click()
    data = node(page, "Built-in data")
    # Out of the middle, where it was put.
    await drag(page, await centre(data.locator(".node-title")), (200, 260))
    await page.mouse.up()
    await page.get_by_role("button", name="Close panel").click()

    # A wire that is let go over nothing asks what is to stand there, and offers what fits.
    await drag(page, await centre(port(page, "Built-in data", "output", "dataset")), (380, 260))
    await page.mouse.up()
    search = page.get_by_role("dialog", name="Search nodes")
    await expect(search.get_by_role("group", name="Often next")).to_be_visible()
    await search.get_by_role("option", name=re.compile("^Split")).first.click()
    await expect(node(page, "Split")).to_be_visible()
    await add(page, "module", (200, 640))
    await add(page, "adamw", (480, 680))
    await add(page, "training loop", (700, 420))
    await add(page, "evaluate", (980, 260))
    for start, end in (
        (("Split", "train"), ("Training loop", "train")),
        (("Split", "test"), ("Evaluate", "data")),
        (("Module", "model"), ("Training loop", "model")),
        (("AdamW", "optimizer"), ("Training loop", "optimizer")),
        (("Training loop", "model"), ("Evaluate", "model")),
    ):
        await wire(page, port(page, start[0], "output", start[1]), port(page, end[0], "input", end[1]))
    await expect(page.get_by_text("6 nodes · 6 wires")).to_be_visible()
    await node(page, "Training loop").locator(".node-title").click()
    await page.get_by_role("textbox", name="Epochs").fill("1")
    await page.get_by_role("textbox", name="Epochs").press("Enter")
    await page.get_by_role("button", name="Close panel").click()

    await node(page, "Module").locator(".node-title").dblclick()
    await expect(node(page, "Module input")).to_be_visible()
    for count, query in enumerate(("Convolution 2d", "ReLU", "Max pool 2d", "Flatten", "Linear")):
        # Below the two ends, which the view shows in its middle.
        await add(page, query, (180 + 230 * count, 620))
    names = ("Module input", "Convolution 2d", "ReLU", "Max pool 2d", "Flatten", "Linear", "Module output")
    for before, after in pairwise(names):
        out = "x" if before == "Module input" else "y"
        await wire(page, port(page, before, "output", out), port(page, after, "input", "x"))
    await node(page, "Linear").locator(".node-title").click()
    await page.get_by_role("textbox", name="Outputs").fill("10")
    await page.get_by_role("textbox", name="Outputs").press("Enter")
    await page.get_by_label("Where you are").get_by_role("button", name="built").click()
    await runs_well(page, server)


async def test_the_same_is_built_with_the_keyboard_alone(server: ControlPlane, open_page: OpenPage) -> None:
    page = await open_page("/graphs/built")
    await expect(page.get_by_role("heading", name="An empty canvas")).to_be_visible()
    keys = page.keyboard

    async def put(query: str, title: str) -> None:
        await keys.press("/")
        await expect(page.get_by_role("combobox", name="Search nodes")).to_be_focused()
        await keys.type(query)
        await keys.press("Enter")
        await expect(node(page, title)).to_be_focused()

    async def go(title: str) -> None:
        await keys.press("Control+k")
        await expect(page.get_by_role("combobox", name="Commands")).to_be_focused()
        await keys.type(title)
        await page.get_by_role("option", name=re.compile(f"^{title}")).last.wait_for()
        await keys.press("ArrowUp")
        await keys.press("Enter")
        await expect(node(page, title)).to_be_focused()

    async def join(out: str | None, to: str) -> None:
        """From the focused node: the port to begin at where there are several, then where it goes."""
        await keys.press("w")
        if out is not None:
            await expect(page.get_by_role("combobox", name="Wire from which port?")).to_be_focused()
            await keys.type(out)
            await keys.press("Enter")
        await expect(page.get_by_role("combobox", name=re.compile("^Wire .* to$"))).to_be_focused()
        await keys.type(to)
        await keys.press("Enter")

    for query, title in (
        ("built", "Built-in data"),
        ("split", "Split"),
        ("module", "Module"),
        ("adamw", "AdamW"),
        ("training loop", "Training loop"),
        ("evaluate", "Evaluate"),
    ):
        await put(query, title)
    await go("Built-in data")
    await join(None, "split")
    await go("Split")
    await join("train", "train")
    await expect(page.get_by_text("6 nodes · 2 wires")).to_be_visible()
    await expect(node(page, "Split")).to_be_focused()
    await join("test", "data")
    await go("Module")
    await join(None, "training")
    await go("AdamW")
    await join(None, "optimizer")
    await go("Training loop")
    await join("model", "evaluate")
    await expect(page.get_by_text("6 nodes · 6 wires")).to_be_visible()

    # Enter opens the panel; F6 goes to it.
    await expect(node(page, "Training loop")).to_be_focused()
    await keys.press("Enter")
    await expect(page.get_by_role("complementary", name="Selected node")).to_contain_text("Training loop")
    await keys.press("F6")
    for _ in range(12):
        if await page.get_by_role("textbox", name="Epochs").evaluate(
            "field => field === document.activeElement"
        ):
            break
        await keys.press("Tab")
    await expect(page.get_by_role("textbox", name="Epochs")).to_be_focused()
    await keys.press("Control+a")
    await keys.type("1")
    await keys.press("Enter")
    await keys.press("Shift+F6")

    await go("Module")
    await keys.press("Enter")
    await expect(node(page, "Module input")).to_be_visible()
    names = ("Convolution 2d", "ReLU", "Max pool 2d", "Flatten", "Linear")
    for name in names:
        await put(name, name)
    for before, after in zip(("Module input", *names), (*names, "Module output"), strict=True):
        await go(before)
        await join(None if before == "Module input" else "y", after)
    await expect(page.get_by_text("7 nodes · 6 wires")).to_be_visible()
    await go("Linear")
    await keys.press("Enter")
    await keys.press("F6")
    for _ in range(12):
        if await page.get_by_role("textbox", name="Outputs").evaluate(
            "field => field === document.activeElement"
        ):
            break
        await keys.press("Tab")
    await keys.press("Control+a")
    await keys.type("10")
    await keys.press("Enter")
    await keys.press("Shift+F6")
    # The first deselects, the second leaves the module.
    await keys.press("Escape")
    await keys.press("Escape")
    await expect(node(page, "Training loop")).to_be_visible()
    await runs_well(page, server)


async def test_a_refused_wire_offers_the_node_that_would_help(open_page: OpenPage) -> None:
    page = await open_page("/graphs/digits-cnn")
    await expect(node(page, "Evaluate")).to_be_visible()
    start = port(page, "Digits", "output", "dataset")
    end = port(page, "Cross-entropy", "input", "weights")
    await drag(page, await centre(start), await centre(end))
    reason = "Cross-entropy takes tensor at weights; this wire gives dataset."
    await expect(page.get_by_role("status").filter(has_text=reason)).to_be_visible()
    await page.mouse.up()
    card = page.get_by_role("alertdialog", name="This wire does not fit")
    await expect(card).to_contain_text(reason)
    await card.get_by_role("button", name="Put Data to tensors between").click()
    await expect(page.get_by_text("9 nodes · 11 wires")).to_be_visible()
    graph = await saved(page, "digits-cnn")
    assert "digits.dataset->dataset_to_tensors.dataset" in wires(graph)
    await page.keyboard.press("Control+z")
    await expect(page.get_by_text("8 nodes · 9 wires")).to_be_visible()


async def test_a_group_becomes_a_preset_that_is_used_again_elsewhere(
    server: ControlPlane, open_page: OpenPage
) -> None:
    page = await open_page("/graphs/digits-cnn")
    await node(page, "Split").locator(".node-title").click()
    await node(page, "Batches").locator(".node-title").click(modifiers=["Shift"])
    await page.keyboard.press("Control+g")
    # Its name can be typed at once.
    await expect(page.get_by_role("textbox", name="Name of group")).to_be_focused()
    await page.keyboard.type("Prepared data")
    await page.keyboard.press("Enter")
    group = node(page, "Prepared data")
    await expect(group).to_be_focused()
    await expect(page.get_by_text("7 nodes · 8 wires")).to_be_visible()
    await expect(page.get_by_role("button", name="No problems")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Where you are")).to_contain_text("Prepared data")
    await expect(node(page, "Batches")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(group).to_be_visible()

    await group.locator(".node-title").click(button="right")
    await page.get_by_role("menuitem", name="Save as preset…").click()
    dialog = page.get_by_role("dialog", name="Save as preset")
    await dialog.get_by_role("textbox", name="Name", exact=True).fill("halves")
    await dialog.get_by_role("checkbox", name=re.compile("^Batch size")).check()
    await dialog.get_by_role("textbox", name="Name of Batch size outside").fill("batch")
    await dialog.get_by_role("button", name="Save preset").click()
    await expect(dialog).to_have_count(0)
    graph = await saved(page, "digits-cnn")
    (instance,) = [one for one in graph["nodes"] if one["type"] == "Preset"]
    assert instance["data"]["params"] == {"preset": "halves"}
    assert graph["presets"]["halves"]["params"] == [
        {"name": "batch", "node": "train_loader", "param": "batch_size"}
    ]
    assert "group" not in graph["subgraphs"]

    # Its parameter is on its node, and the graph runs with it.
    await group.locator(".node-title").click()
    field = page.get_by_role("textbox", name="batch")
    await expect(field).to_have_value("64")
    await field.fill("128")
    await field.press("Enter")
    await node(page, "Training loop").locator(".node-title").click()
    await page.get_by_role("textbox", name="Epochs").fill("1")
    await page.get_by_role("textbox", name="Epochs").press("Enter")
    await page.keyboard.press("Control+Enter")
    await expect(node(page, "Evaluate", "succeeded")).to_be_visible()
    await expect(node(page, "Prepared data", "succeeded")).to_be_visible()

    # In another graph the library has it, with all that it needs.
    other = await open_page("/graphs/other")
    await expect(other.get_by_role("heading", name="An empty canvas")).to_be_visible()
    await other.keyboard.press("/")
    await other.get_by_role("combobox").fill("halves")
    await other.get_by_role("option").first.click()
    await expect(node(other, "halves")).to_be_visible()
    there = await saved(other, "other")
    assert list(there["presets"]) == ["halves"]


async def test_a_part_goes_through_the_clipboard_into_another_graph_and_nonsense_does_not(
    open_page: OpenPage,
) -> None:
    page = await open_page("/graphs/digits-cnn")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await node(page, "DigitsCNN").focus()
    await page.keyboard.press("Control+a")
    await page.keyboard.press("Control+c")
    copied = json.loads(await page.evaluate("navigator.clipboard.readText()"))
    assert len(copied["nodes"]) == 8
    await page.keyboard.press("Control+v")
    await expect(page.get_by_text("16 nodes · 18 wires")).to_be_visible()
    graph = await saved(page, "digits-cnn")
    assert len({one["id"] for one in graph["nodes"]}) == 16
    assert sorted(graph["subgraphs"]) == ["digits_cnn", "digits_cnn_2"]

    other = await page.context.new_page()
    await other.goto(page.url.replace("digits-cnn", "other"))
    await expect(other.get_by_role("heading", name="An empty canvas")).to_be_visible()
    await other.keyboard.press("Control+v")
    await expect(other.get_by_text("8 nodes · 9 wires")).to_be_visible()
    before = await saved(other, "other")
    await other.evaluate('navigator.clipboard.writeText(\'{"nodes": "what?"}\')')
    await other.keyboard.press("Control+v")
    await expect(other.get_by_text("What was copied is not a part of a graph.")).to_be_visible()
    await expect(other.get_by_text("8 nodes · 9 wires")).to_be_visible()
    assert await saved(other, "other") == before


async def test_every_key_is_listed_and_single_letters_can_be_switched_off(open_page: OpenPage) -> None:
    page = await open_page("/graphs/digits-cnn")
    await node(page, "Split").focus()
    await page.keyboard.press("F2")
    await page.get_by_role("textbox", name="Name of Split").fill("Halves")
    await page.keyboard.press("Enter")
    await page.keyboard.press("c")
    await page.keyboard.press("b")
    await expect(node(page, "Halves, bypassed")).to_be_focused()
    await page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    await expect(dialog).to_contain_text("Collapse or expand")
    await expect(dialog).to_contain_text("Wire from here")
    await dialog.get_by_role("switch", name="Single letters").click(force=True)
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await node(page, "Halves, bypassed").focus()
    await page.keyboard.press("b")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Commands")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(node(page, "Halves, bypassed")).to_be_visible()
    for _ in range(3):
        await page.keyboard.press("Control+z")
    await expect(node(page, "Split")).to_be_visible()
