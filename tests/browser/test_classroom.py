"""A room of thirty: an address without https, visitors side by side, and files that say what they are."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.explore import NARROW, TIRED, Explore, assert_ranked, eventually, strongest, svg
from tests.browser.reference import forward
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, Faults, wait_idle

HOSTILE = '<script>alert("1")</script> & =1+1, it\'s "x" ]]> --> <img src=x>'


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    return Explore(page, server.url)


@pytest.fixture
def pupil(browser: Browser, server: Server, faults: Faults) -> Iterator[Explore]:
    """Somebody who opens the page of the teacher's computer by its name, without https."""
    port = server.url.rsplit(":", 1)[1]
    rules = "--host-resolver-rules=MAP classroom.test 127.0.0.1"
    theirs = browser.browser_type.launch(
        executable_path=chromium.find(), args=[*chromium.QUIET, rules, "--no-proxy-server"]
    )
    try:
        context = theirs.new_context(viewport=DESKTOP)
        faults.hosts.add(f"classroom.test:{port}")
        faults.watch(context)
        yield Explore(context.new_page(), f"http://classroom.test:{port}")
        context.close()
        assert not faults.seen, "\n".join(faults.seen)
    finally:
        theirs.close()


def test_the_page_and_its_copied_link_work_by_name_without_https(pupil: Explore) -> None:
    page = pupil.page
    pupil.open(show="narrow")
    assert page.evaluate("isSecureContext") is False
    pupil.open_head(6, 12)
    expect(page.get_by_role("heading", name="Layer 6 · Head 12")).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape("layer=6")))

    # Where the browser forbids copying, the link is shown for copying by hand.
    page.evaluate("document.execCommand = () => false")
    page.get_by_role("button", name="Copy link").click()
    link = page.get_by_role("textbox", name="Link to this view")
    expect(link).to_be_focused()
    expect(link).to_have_value(page.url)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Copy link")).to_be_focused()

    page.evaluate("delete document.execCommand")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied ✓")).to_be_visible()
    box = page.get_by_role("textbox", name="Sentence")
    box.fill("")
    box.press("Control+v")
    expect(box).to_have_value(page.url)


def test_copy_link_in_a_secure_place(explore: Explore) -> None:
    explore.open(layer=3, head=11, view="Matrix")
    explore.page.get_by_role("button", name="Copy link").click()
    expect(explore.page.get_by_text("Copied ✓")).to_be_visible()
    assert explore.page.evaluate("navigator.clipboard.readText()") == explore.page.url


def test_two_visitors_do_not_disturb_each_other(explore: Explore, browser: Browser, faults: Faults) -> None:
    texts = [TIRED, "A bird in the hand is worth two in the bush."]
    neighbour = browser.new_context(viewport=DESKTOP)
    faults.watch(neighbour)
    visitors = [explore, Explore(neighbour.new_page(), explore.url)]
    for visitor, text in zip(visitors, texts, strict=True):
        visitor.open(text=text, hide="true")
    for layer, head, query in ((6, 12, 2), (1, 3, 5), (4, 2, 7)):
        for visitor in visitors:
            visitor.head(layer, head).click()
        for visitor in visitors:
            wait_idle(visitor.page)
            visitor.queries.nth(query).click()
        for visitor, text in zip(visitors, texts, strict=True):
            shown = forward(text).shown(hide=True)
            row = shown.weights[layer - 1, head - 1, query]
            largest = strongest(row, shown.names)
            wait_idle(visitor.page)

            def check() -> None:
                visitor.page.mouse.move(0, 0)  # noqa: B023
                [(name, _), *named] = visitor.sentence()  # noqa: B023
                assert name == shown.names[query]  # noqa: B023
                assert_ranked(named, largest)  # noqa: B023

            eventually(check)
    neighbour.close()


QUICK = ((20, 4, 2, 3), (40, 3, 3, 4), (30, 4, 2, 5), (20, 6, 12, 6), (40, 4, 2, 7), (30, 2, 5, 8))


def test_two_quick_choices_are_both_kept(explore: Explore) -> None:
    page = explore.page
    explore.open(layer=1, head=1)
    for head_first in (True, False):
        for gap, layer, head, query in QUICK:
            head_button, token = explore.head(layer, head), explore.queries.nth(query)
            both = [head_button.element_handle(), token.element_handle()]
            first, second = both if head_first else reversed(both)
            page.evaluate(
                "([a, b, gap]) => { a.click(); setTimeout(() => b.click(), gap); }", [first, second, gap]
            )
            title = page.get_by_role("heading", name=f"Layer {layer} · Head {head}", exact=True)
            expect(title).to_be_visible()
            expect(token).to_have_attribute("aria-pressed", "true")
            wait_idle(page)
            expect(title).to_be_visible()
            expect(token).to_have_attribute("aria-pressed", "true")


def saved(page: Page, button: str) -> Path:
    """The file that a button gives, in a folder of its own under its own name."""
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(button)).click()
    path = Path(download.value.path())
    return path.rename(path.with_name(download.value.suggested_filename))


@pytest.mark.parametrize("view", ["Lines", "Matrix"])
def test_pictures_as_files_say_what_they_show_and_run_nothing(explore: Explore, view: str) -> None:
    explore.open(text=HOSTILE, layer=3, head=7, hide="true", view=view)
    picture, png = saved(explore.page, "^SVG$"), saved(explore.page, "^PNG$")
    for path, ending in ((picture, ".svg"), (png, ".png")):
        assert path.suffix == ending
        for part in ("minilm", "layer3", "head7", "hidden"):
            assert part in path.stem
    root = svg(picture)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "title", "g", "rect", "path", "text", "defs", "pattern", "image", "tspan", "desc"}
    assert not [name for element in root.iter() for name in element.attrib if name.lower().startswith("on")]
    said = " ".join(root.itertext())
    for part in (
        HOSTILE,
        "minilm",
        "3-7",
        "weights",
        "without [CLS] and [SEP]",
        "rescaled",
        "Layer 3 · Head 7",
    ):
        assert part in said, part
    visible = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "rescaled" in visible
    assert "colour scale" in visible
    assert '<script>alert("1")</script>' in visible
    content = png.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert width > 1000
    assert height > 500
    assert len(content) > 10_000


def test_the_heatmap_as_a_file_says_what_it_shows(explore: Explore) -> None:
    explore.open(text=HOSTILE, layer=3, head=7, hide="true", view="Heatmap")
    plot = explore.page.locator(".js-plotly-plot")
    plot.hover()
    with explore.page.expect_download() as download:
        plot.locator("[data-title*=ownload]").click()
    for part in ("minilm", "layer3", "head7", "hidden", ".svg"):
        assert part in download.value.suggested_filename
    root = svg(download.value.path())
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    said = " ".join(root.itertext())
    for part in ('<script>alert("1")</script>', "minilm", "3-7", "rescaled"):
        assert part in said, part


def test_numbers_as_files_are_those_of_the_page(explore: Explore) -> None:
    explore.open(text=HOSTILE, layer=3, head=7, hide="true")
    read = forward(HOSTILE)
    shown = read.shown(hide=True)

    explore.unfold("Save")
    table = saved(explore.page, "^CSV")
    assert re.fullmatch(r"attnviz-minilm-layer3-head7-.*hidden.*\.csv", table.name)
    lines = list(csv.reader(io.StringIO(table.read_text("utf-8-sig"))))
    facts = {line[0]: line[1] for line in lines if line[0].startswith("# ")}
    said = " ".join([*facts, *facts.values()])
    for part in (HOSTILE, "minilm", "without [CLS] and [SEP]", "rescaled"):
        assert part in said, part
    assert [value for name, value in facts.items() if "layer" in name or "head" in name] == ["3", "7"]
    header, *rows = lines[len(facts) :]
    assert [name.split(":", 1)[1] for name in header[1:]] == list(shown.labels)
    assert [row[0] for row in rows] == header[1:]
    numbers = np.array([[float(cell) for cell in row[1:]] for row in rows])
    np.testing.assert_allclose(numbers, shown.weights[2, 6], atol=1e-5)

    archive = saved(explore.page, "NPZ")
    assert "minilm" in archive.name
    with np.load(archive, allow_pickle=False) as arrays:
        for layer in range(6):
            weights = arrays[f"encoder-{layer + 1}.weights"]
            np.testing.assert_allclose(weights, read.weights[layer], atol=1e-5)
            np.testing.assert_allclose(arrays[f"encoder-{layer + 1}.query"], read.query[layer], atol=1e-4)
        header_text = json.loads(bytes(arrays["header"]))
    assert header_text["text"] == HOSTILE
    assert header_text["model"] == "minilm"


def test_the_numbers_of_a_change_as_a_file(explore: Explore) -> None:
    explore.open(show="change", layer=4, head=2)
    explore.unfold("Save")
    table = saved(explore.page, "^CSV")
    assert "change" in table.name
    lines = list(csv.reader(io.StringIO(table.read_text("utf-8-sig"))))
    said = " ".join(" ".join(line) for line in lines if line[0].startswith("# "))
    assert TIRED in said
    assert NARROW in said
    rows = [line for line in lines if not line[0].startswith("# ")][1:]
    numbers = np.array([[float(cell) for cell in row[1:]] for row in rows])
    change = forward(NARROW).weights[3, 1] - forward(TIRED).weights[3, 1]
    np.testing.assert_allclose(numbers, change, atol=1e-5)
