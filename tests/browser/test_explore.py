"""Explore as a whole: every number on the page and in its files is that of a forward pass without attnviz."""

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import expect

from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.trace import Floats
from tests import reference_bert
from tests.browser.explore import (
    Explore,
    assert_printed,
    svg,
)
from tests.browser.visit import (
    COLOURS,
    COMPUTED_MS,
    PHONE,
    assert_link_reproduces,
    axe,
    eventually,
    fits,
    save,
    visit,
    wait_idle,
)
from tests.capture.tiny import tiny
from tests.head_table import read_head_table

HOSTILE = '<script>alert("1")</script> & =1+1, it\'s "x" ]]> --> <img src=x>'


def check_lines(explore: Explore, labels: tuple[str, ...], row: Floats, least: float = 0.005) -> None:
    """Every key's number; a share below half a percent is left blank."""
    shown = explore.rows(explore.keys)
    assert [label for label, _ in shown] == list(labels)
    for (_, text), exact in zip(shown, row, strict=True):
        if text:
            assert_printed(text, exact)
        else:
            assert abs(exact) < least + 1e-6


def read_table(file: Path) -> tuple[dict[str, str], list[str], Floats]:
    """What a table says of itself, the names of its rows, and its numbers."""
    facts, (header, *rows) = read_head_table(file.read_text("utf-8"))
    names = header[1 : len(rows) + 1]
    assert [row[0] for row in rows] == names
    return facts, names, np.array([[float(cell) for cell in row[1:]] for row in rows])


def save_data(explore: Explore, button: str, folder: Path) -> Path:
    name = explore.page.get_by_role("button", name=re.compile(button)).inner_text()
    return save(explore.page, name, folder)


def test_the_longest_text_is_drawn_and_another_head_opened(explore: Explore) -> None:
    explore.open(text="the quick brown fox jumps " * 102)
    expect(explore.page.get_by_test_id("stAlert")).to_have_count(0)
    explore.open_head(2, 9)
    expect(explore.picture).to_have_attribute("data-head", "2-9")
    assert 25 <= len(explore.rows(explore.keys)) <= 41  # around the chosen token, and its top keys
    assert 0 < int(explore.picture.get_attribute("data-lines") or 0) <= 32
    assert explore.picture.locator("canvas").first.evaluate(COLOURS) > 20


def test_a_visitors_own_model_is_opened_and_writes_on(explore: Explore, tmp_path: Path) -> None:
    page, prompt = explore.page, "The capital of France is"
    folder = tiny("gpt2", tmp_path)
    visit(page, f"{explore.url}/?{urlencode({'model': folder, 'text': prompt, 'layer': 2, 'head': 3})}")
    expect(page.get_by_test_id("stAlert")).to_contain_text(f"model = {str(folder)[:60]}")
    page.get_by_role("link", name="on this server …").click()
    expect(page.get_by_role("textbox", name=re.compile("^Your own model"))).to_have_value(str(folder))
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("It is open", timeout=COMPUTED_MS)
    page.get_by_role("link", name="Explore with it").first.click()
    expect(page).to_have_url(re.compile("model="))
    wait_idle(page)
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(prompt)
    page.get_by_role("spinbutton", name="Tokens to write").fill("4")
    page.get_by_role("spinbutton", name="Tokens to write").press("Enter")
    expect(page).to_have_url(re.compile("write=4"))
    explore.open_head(2, 3)

    trace = loading.trace(str(folder), ModelInput(prompt, writing=Writing(4)))
    block = trace.block("decoder", 1)
    called = [token.text for token in block.query_tokens]
    typed = len(called) - 4
    written = page.get_by_role("button", name=re.compile("written token"))
    expect(written).to_have_text([re.compile(rf"\s*{re.escape(name)}\s*") for name in called[typed:]])
    expect(written.first).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Next token").click()
    expect(written.nth(1)).to_have_attribute("aria-pressed", "true")

    @eventually
    def check() -> None:
        page.mouse.move(0, 0)
        check_lines(explore, tuple(called), block.weights[2, typed])
        table = page.get_by_role("table", name="What comes after")
        expect(table.locator("tbody tr")).not_to_have_count(0)
        taken = table.get_by_role("row").filter(has_text="taken").locator("bdi")
        assert taken.inner_text() == called[typed + 1]

    check()
    assert_link_reproduces(page)
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    assert axe(page) == []
    assert fits(page)


# Files


def test_files_say_what_they_show_and_run_nothing_and_their_numbers_are_those_of_the_page(
    explore: Explore, tmp_path: Path
) -> None:
    explore.open(text=HOSTILE, layer=3, head=7, hide="true", view="Matrix")
    read = reference_bert.forward(HOSTILE)
    weights = read.weights[2, 6, 1:-1, 1:-1]
    left = weights.sum(axis=-1)
    picture, png = (save(explore.of_heads, ending, tmp_path) for ending in ("SVG", "PNG"))
    for path, ending in ((picture, ".svg"), (png, ".png")):
        assert path.suffix == ending
        for part in ("minilm", "layer3", "head7", "hidden"):
            assert part in path.stem
    root = svg(picture)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "g", "rect", "path", "text", "defs", "pattern", "image", "tspan", "desc"}
    assert not [name for element in root.iter() for name in element.attrib if name.lower().startswith("on")]
    said = " ".join(root.itertext())
    about = ("minilm", "3-7", "weights", "without [CLS] and [SEP]", "rescaled", "Layer 3 · Head 7")
    for part in (HOSTILE, *about):
        assert part in said, part
    visible = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    for part in ("rescaled", "colour scale", '<script>alert("1")</script>'):
        assert part in visible
    width, height = (int.from_bytes(png.read_bytes()[at : at + 4], "big") for at in (16, 20))
    assert width > 1000
    assert height > 500

    explore.choose("Picture", "Heatmap")
    plot = explore.page.locator(".js-plotly-plot")
    plot.hover()
    with explore.page.expect_download() as download:
        plot.locator("[data-title*=ownload]").click()
    root = svg(download.value.path())
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    for part in ('<script>alert("1")</script>', "minilm", "3-7", "rescaled"):
        assert part in " ".join(root.itertext()), part

    explore.unfold("Save")
    table = save_data(explore, "^CSV", tmp_path)
    assert re.fullmatch(r"attnviz-minilm-layer3-head7-.*hidden.*\.csv", table.name)
    facts, rows, numbers = read_table(table)
    said = " ".join([*facts, *facts.values()])
    for part in (HOSTILE, "minilm", "without [CLS] and [SEP]", "rescaled"):
        assert part in said, part
    assert (facts["layer"], facts["head"]) == ("3", "7")
    assert [name.split(":", 1)[1] for name in rows] == list(read.tokens[1:-1])
    np.testing.assert_allclose(numbers[:, :-1], weights / left[:, None], atol=1e-5)
    np.testing.assert_allclose(numbers[:, -1], 1 - left, atol=1e-5)

    archive = save_data(explore, "NPZ", tmp_path)
    assert "minilm" in archive.name
    with np.load(archive, allow_pickle=False) as arrays:
        for layer in range(6):
            found = arrays[f"encoder-{layer + 1}.weights"]
            np.testing.assert_allclose(found, read.weights[layer], atol=1e-5)
        header = json.loads(bytes(arrays["header"]))
    assert (header["text"], header["model"]) == (HOSTILE, "minilm")
