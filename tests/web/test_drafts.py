"""Nothing is lost: two versions of one graph, a server that is away, a reload, files from outside, files of data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from codefy_control_plane.testing import ControlPlane

from .conftest import PATIENCE_MS, SHOTS
from .test_canvas import node

pytestmark = [pytest.mark.web, pytest.mark.timeout(300)]

SAVES = re.compile(r"/api/graphs/[^/]+(/draft)?$")


async def person(server: ControlPlane, browser: Browser) -> BrowserContext:
    """A browser of their own, let in by the link."""
    context = await browser.new_context(base_url=server.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    await page.goto(f"{server.url}/settings?token={server.token}")
    await page.close()
    return context


async def opened(server: ControlPlane, context: BrowserContext, path: str) -> Page:
    page = await context.new_page()
    await page.goto(server.url + path)
    await expect(page.get_by_role("button", name="Run here")).to_be_visible()
    return page


async def set_number(page: Page, title: str, name: str, value: str) -> None:
    await node(page, title).click()
    field = page.get_by_role("textbox", name=re.compile(f"^{name}"))
    await field.fill(value)
    await field.press("Enter")


async def param_on_server(page: Page, graph: str, node_id: str, name: str) -> Any:
    answer = await page.request.get(f"/api/graphs/{graph}")
    nodes = (await answer.json())["graph"]["nodes"]
    return next(one for one in nodes if one["id"] == node_id)["data"]["params"].get(name)


def saved(page: Page, revision: int) -> Locator:
    return page.get_by_text(f"Saved · revision {revision}", exact=True)


async def hold_saves(page: Page) -> None:
    """From now on this page's saves do not reach the server."""

    async def drop(route: Any) -> None:
        await (route.abort() if route.request.method == "PUT" else route.continue_())

    await page.route(SAVES, drop)


async def test_two_people_edit_one_graph_and_neither_loses_anything(
    server: ControlPlane, real_chromium: Browser
) -> None:
    ann = await opened(server, await person(server, real_chromium), "/graphs/digits-cnn")
    await set_number(ann, "Training loop", "Epochs", "3")
    await expect(saved(ann, 1)).to_be_visible()
    ben = await opened(server, await person(server, real_chromium), "/graphs/digits-cnn")
    await expect(saved(ben, 1)).to_be_visible()

    await set_number(ben, "AdamW", "Learning rate", "0.02")
    await expect(saved(ben, 2)).to_be_visible()
    await set_number(ann, "Training loop", "Epochs", "7")
    notice = ann.get_by_role("alert").filter(has_text="Someone saved revision 2 while you edited 1.")
    await expect(notice).to_contain_text("2 nodes differ. Nothing was overwritten. Yours is kept as a draft.")
    assert await param_on_server(ann, "digits-cnn", "train", "epochs") == 3

    # The undecided draft is found again by a fresh page, on any machine.
    await ann.reload()
    await notice.get_by_role("button", name="See both").click()
    dialog = ann.get_by_role("dialog", name="Two versions of digits-cnn")
    await expect(dialog.get_by_role("region", name="You changed")).to_contain_text("Epochs is 7, was 3")
    theirs = dialog.get_by_role("region", name="They changed, revision 2")
    await expect(theirs).to_contain_text("Learning rate is 0.02, was 0.003")
    await ann.screenshot(path=SHOTS / "two-versions.png")
    await theirs.get_by_role("button", name=re.compile("AdamW")).click()
    await expect(ann.get_by_role("heading", name="AdamW")).to_be_visible()

    await notice.get_by_role("button", name="See both").click()
    await dialog.get_by_role("button", name="Keep both").click()
    await (
        ann.get_by_role("status")
        .filter(has_text="digits-cnn-copy")
        .get_by_role("button", name="Open")
        .click()
    )
    await expect(ann).to_have_url(re.compile("digits-cnn-copy"))
    assert await param_on_server(ann, "digits-cnn-copy", "train", "epochs") == 7
    assert await param_on_server(ann, "digits-cnn", "train", "epochs") == 3
    assert (await (await ann.request.get("/api/graphs")).json())["drafts"] == []


async def test_two_tabs_of_one_browser_follow_each_other(
    server: ControlPlane, real_chromium: Browser
) -> None:
    context = await person(server, real_chromium)
    first = await opened(server, context, "/graphs/wine-mlp")
    second = await opened(server, context, "/graphs/wine-mlp")
    await expect(first.get_by_text("Open in another tab")).to_be_visible()
    await node(second, "Training loop").click()
    await set_number(first, "Training loop", "Epochs", "11")
    # A tab that has nothing of its own to say shows what the other one saved.
    for page in (first, second):
        await expect(saved(page, 1)).to_be_visible()
    await expect(second.get_by_role("textbox", name=re.compile("^Epochs"))).to_have_value("11")

    await hold_saves(second)
    await set_number(second, "Training loop", "Epochs", "12")
    await expect(second.get_by_role("alert").filter(has_text="Not saved")).to_be_visible()
    await set_number(first, "AdamW", "Learning rate", "0.02")
    await expect(saved(first, 2)).to_be_visible()
    await second.unroute(SAVES)
    await expect(second.get_by_text("Someone saved revision 2 while you edited 1.")).to_be_visible()
    await second.get_by_role("button", name="See both").first.click()
    await second.get_by_role("button", name="Use mine").click()
    await expect(saved(second, 3)).to_be_visible()
    await expect(saved(first, 3)).to_be_visible()
    assert await param_on_server(first, "wine-mlp", "train", "epochs") == 12
    await second.close()
    await expect(first.get_by_text("Open in another tab")).to_have_count(0)


async def test_a_reload_right_after_an_edit_in_mid_run_loses_neither(
    server: ControlPlane, real_chromium: Browser
) -> None:
    page = await opened(server, await person(server, real_chromium), "/graphs/digits-cnn")
    await set_number(page, "Training loop", "Epochs", "400")
    await expect(saved(page, 1)).to_be_visible()
    await page.get_by_role("button", name="Run here").click()
    await expect(node(page, "Training loop", "running")).to_be_visible()
    await set_number(page, "Training loop", "Epochs", "5")
    await page.reload()
    await expect(node(page, "Training loop", "running")).to_be_visible()
    await expect(saved(page, 2)).to_be_visible()
    assert await param_on_server(page, "digits-cnn", "train", "epochs") == 5


async def test_what_could_not_be_saved_is_back_when_the_page_is_opened_again(
    server: ControlPlane, real_chromium: Browser
) -> None:
    page = await opened(server, await person(server, real_chromium), "/graphs/digits-cnn")
    await set_number(page, "Training loop", "Epochs", "4")
    await expect(saved(page, 1)).to_be_visible()
    await server.kill()
    await set_number(page, "Training loop", "Epochs", "5")
    alert = page.get_by_role("alert").filter(has_text="Not saved")
    await expect(alert).to_contain_text("The draft is kept in this browser.")
    await page.screenshot(path=SHOTS / "not-saved.png")
    await page.goto("about:blank")
    await server.start()
    await page.goto(server.url + "/graphs/digits-cnn")
    await expect(page.get_by_text(re.compile("Unsaved changes of .* are back"))).to_be_visible()
    await expect(saved(page, 2)).to_be_visible()
    assert await param_on_server(page, "digits-cnn", "train", "epochs") == 5
    # Undo goes back to what the server had.
    await page.get_by_role("button", name="Undo").click()
    await expect(saved(page, 3)).to_be_visible()
    assert await param_on_server(page, "digits-cnn", "train", "epochs") == 4


async def add_node(page: Page, title: str) -> None:
    await page.get_by_role("button", name="Add node").first.click()
    await page.keyboard.type(title)
    await page.keyboard.press("Enter")


async def test_a_draft_without_a_name_outlives_the_server(
    server: ControlPlane, real_chromium: Browser
) -> None:
    page = await opened(server, await person(server, real_chromium), "/graphs/wine-mlp")
    await page.get_by_role("button", name="New graph").click()
    await expect(page.get_by_role("heading", name="An empty canvas")).to_be_visible()
    await add_node(page, "ReLU")
    await expect(page.get_by_text("Not named yet")).to_be_visible()
    await expect(saved(page, 1)).to_be_visible()

    await server.kill()
    await add_node(page, "Dropout")
    await expect(page.get_by_role("alert").filter(has_text="Not saved")).to_be_visible()
    await server.start()
    await expect(saved(page, 2)).to_be_visible()

    other = await (await person(server, real_chromium)).new_page()
    await other.goto(server.url + "/")
    await other.get_by_role("link", name=re.compile("untitled.*not named yet")).click()
    await expect(node(other, "ReLU")).to_be_visible()
    await expect(node(other, "Dropout")).to_be_visible()
    await other.get_by_role("button", name="Name it…").click()
    await other.get_by_role("textbox", name="Name of the graph").fill("my net 網")
    await other.keyboard.press("Enter")
    await expect(other).to_have_url(re.compile("my%20net"))
    file = server.data_dir / "graphs" / "my net 網.json"
    assert {one["type"] for one in json.loads(file.read_text("utf-8"))["nodes"]} == {"ReLU", "Dropout"}
    assert list((server.data_dir / "drafts").glob("*.json")) == []


async def test_tabs_are_closed_had_back_moved_and_renamed(
    server: ControlPlane, real_chromium: Browser
) -> None:
    page = await opened(server, await person(server, real_chromium), "/graphs/digits-cnn")
    await page.goto(server.url + "/graphs/wine-mlp")
    tabs = page.get_by_role("navigation", name="Open graphs").get_by_role("link")
    await expect(tabs).to_have_text(["digits-cnn", "wine-mlp"])
    await set_number(page, "Training loop", "Epochs", "9")
    await expect(saved(page, 1)).to_be_visible()
    await page.get_by_role("button", name="Close wine-mlp").click()
    await expect(tabs).to_have_text(["digits-cnn"])
    await expect(page).to_have_url(re.compile("digits-cnn"))
    await page.get_by_role("button", name="Open again").click()
    await expect(tabs).to_have_text(["digits-cnn", "wine-mlp"])
    # What could be undone still can.
    await page.get_by_role("button", name="Undo").click()
    await expect(saved(page, 2)).to_be_visible()
    await tabs.last.focus()
    await page.keyboard.press("Alt+ArrowLeft")
    await expect(tabs).to_have_text(["wine-mlp", "digits-cnn"])
    await page.get_by_role("button", name="Menu of wine-mlp").click()
    await page.get_by_role("menuitem", name="Rename…").click()
    await page.get_by_role("textbox", name="Name of the graph").fill("a/b")
    await expect(page.get_by_text("A name has none of these")).to_be_visible()
    await page.get_by_role("textbox", name="Name of the graph").fill("wines")
    await page.keyboard.press("Enter")
    await expect(tabs).to_have_text(["wines", "digits-cnn"])
    await expect(page.get_by_role("button", name="Redo")).to_be_enabled()
    await page.reload()
    await expect(tabs).to_have_text(["wines", "digits-cnn"])
    await page.get_by_role("button", name="Menu of wines").click()
    await page.get_by_role("menuitem", name="Delete…").click()
    await page.get_by_role("button", name="Delete graph").click()
    await expect(tabs).to_have_text(["digits-cnn"])
    assert (await page.request.get("/api/graphs/wines")).status == 404
    await page.get_by_role("button", name="Bring it back").click()
    await expect(page).to_have_url(re.compile("wines"))
    assert (await page.request.get("/api/graphs/wines")).status == 200


async def choose(page: Page, name: str, content: bytes) -> None:
    await page.get_by_label("Import graph file…").set_input_files(
        [{"name": name, "mimeType": "application/json", "buffer": content}]
    )


DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: 'application/json' }));
  for (const kind of ['dragover', 'drop']) {
    document.querySelector('.stage').dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""

BAD_FILES = (
    ("notes.txt", b"epochs, loss\n1, 2", "notes.txt is not a graph. It is not JSON: see line 1, column 1."),
    ("run.json", b'{"run_id": "r-1", "status": "failed"}', "it looks like a run export"),
    ("other.json", b'{"a": 1}', "other.json is not a graph. It has no list of nodes."),
    ("half.json", b'{"nodes": [{"id": 5}]}', "there is no usable entry at nodes[0]"),
    ("new.json", b'{"format_version": 9, "nodes": []}', "was saved by a newer Codefy"),
    ("none.json", b"", "none.json is empty."),
    ("picture.png", bytes(range(256)), "picture.png is not a graph."),
)


async def test_graph_files_go_out_and_in_and_what_is_none_changes_nothing(
    server: ControlPlane, real_chromium: Browser, tmp_path: Path
) -> None:
    page = await opened(server, await person(server, real_chromium), "/graphs/digits-cnn")
    await set_number(page, "Training loop", "Epochs", "6")
    await expect(saved(page, 1)).to_be_visible()
    before = await (await page.request.get("/api/graphs/digits-cnn")).json()

    for name, content, said in BAD_FILES:
        await choose(page, name, content)
        alert = page.get_by_role("alert").filter(has_text=said)
        await expect(alert).to_contain_text("Your draft is as it was.")
        await alert.get_by_role("button", name="Dismiss").click()
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(50_000_000)
    await page.get_by_label("Import graph file…").set_input_files(large)
    alert = page.get_by_role("alert").filter(has_text="large.json is too large to be a graph: it has 50 MB")
    await expect(alert).to_contain_text("Your draft is as it was.")
    await alert.get_by_role("button", name="Dismiss").click()
    assert await (await page.request.get("/api/graphs/digits-cnn")).json() == before
    assert len((await (await page.request.get("/api/graphs")).json())["graphs"]) == 1
    await expect(node(page, "Training loop")).to_be_visible()

    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Menu of digits-cnn").click()
        await page.get_by_role("menuitem", name="Export graph file").click()
    download = await waiting.value
    assert download.suggested_filename == "digits-cnn.json"
    exported = Path(await download.path()).read_bytes()

    # In again, beside the one that is there: the same but for its name.
    await page.evaluate(DROP, ["digits-cnn.json", exported.decode()])
    await expect(page).to_have_url(re.compile("digits-cnn-2"))
    await expect(saved(page, 1)).to_be_visible()
    again = (await (await page.request.get("/api/graphs/digits-cnn-2")).json())["graph"]
    assert again == {**before["graph"], "name": "digits-cnn-2"}

    strange = json.loads(exported)
    strange["nodes"].append(
        {"id": "mel", "type": "audio.Mel", "position": {"x": 0, "y": 600}, "data": {"params": {"bins": 80}}}
    )
    await choose(page, "strange.json", json.dumps(strange).encode())
    notice = page.get_by_role("status").filter(has_text="not installed here: audio.Mel")
    await expect(notice).to_be_visible()
    await expect(page).to_have_url(re.compile("strange"))
    await set_number(page, "Training loop", "Epochs", "8")
    await expect(saved(page, 2)).to_be_visible()
    kept = (await (await page.request.get("/api/graphs/strange")).json())["graph"]["nodes"]
    assert next(one for one in kept if one["id"] == "mel")["data"]["params"] == {"bins": 80}


async def test_a_data_file_is_uploaded_and_chosen_for_a_node(
    server: ControlPlane, real_chromium: Browser
) -> None:
    page = await opened(server, await person(server, real_chromium), "/graphs/csv-regression")
    await node(page, "CSV file").click()
    await page.get_by_role("button", name="File: Choose…").click()
    dialog = page.get_by_role("dialog", name="File")
    await dialog.get_by_role("button", name="New folder").click()
    await dialog.get_by_role("textbox", name="Name of the folder").fill("表 1")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_text("This folder is empty.")).to_be_visible()
    content = b"a,b\n" + b"1,2\n" * 1_500_000
    await dialog.locator("input[type=file]").set_input_files(
        [{"name": "my rows.csv", "mimeType": "text/csv", "buffer": content}]
    )
    await expect(dialog.get_by_text("Uploaded, 6 MB")).to_be_visible()
    assert (server.data_dir / "files" / "表 1" / "my rows.csv").read_bytes() == content
    await dialog.locator("input[type=file]").set_input_files(
        [{"name": "my rows.csv", "mimeType": "text/csv", "buffer": b"other"}]
    )
    await dialog.get_by_role("button", name="Keep both").click()
    await expect(dialog.get_by_role("button", name=re.compile(r"^my rows \(2\)\.csv"))).to_be_visible()
    await dialog.get_by_role("button", name=re.compile(r"^my rows\.csv")).click()
    await dialog.get_by_role("button", name="Choose", exact=True).click()
    await expect(page.get_by_role("button", name="File: 表 1/my rows.csv")).to_be_visible()
    await expect(saved(page, 1)).to_be_visible()
    assert await param_on_server(page, "csv-regression", "table", "file") == "表 1/my rows.csv"
