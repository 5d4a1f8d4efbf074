"""The arrow: dragged by mouse, moved by keyboard, pointed by a click; and what it tells Python."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from attnviz.app.lessons.cause.arrow import NOTHING, Interference, arrow
from tests.browser.visit import middle
from tests.browser.widgets import Widgets, sent_by

BEGIN = ["the", "dog", "did", "not", "cross", "the"]
WORDS = [*BEGIN, "<b>road</b>", "as", "it", "was", "too", "tired", "[END]"]
BEFORE = np.array([0, 0.875, 0, 0, 0, 0, 0.0625, 0, 0, 0, 0, 0.0625, 0])
WIDE, NARROW = 720, 350
MOVED: Interference = {"change": "move", "source": 1, "target": 6}
SILENT: Interference = {"change": "row", "source": None, "target": None}


def message(interference: Interference = NOTHING, **more: Any) -> dict[str, Any]:
    now = BEFORE.copy()
    if interference["change"] == "row":
        now[:] = 0
    elif interference["target"] is not None:
        now[interference["target"]] += now[1]
        now[1] = 0
    changed = interference["change"] == "move"
    pronoun = "elle" if changed else "il"
    arguments: dict[str, Any] = {
        "title": "it in encoder 2-1",
        "words": WORDS,
        "query": 8,
        "reader": "it",
        "open_to": [True] * len(WORDS),
        "before": BEFORE,
        "now": now,
        "interference": interference,
        "translation": [{"text": "Car ", "differs": False}, {"text": f"{pronoun}.", "differs": changed}],
        "translation_before": [{"text": "Car ", "differs": False}, {"text": "il.", "differs": changed}],
        "choices": [{"word": "il", "before": 0.9375, "now": 0.03125 if changed else 0.9375}],
        "choice_label": "After “car”",
        "others": 0,
        "about": "",
        "on_change": None,
        "on_undo": None,
    }
    return sent_by(arrow, "a", **{**arguments, **more})


def show(widgets: Widgets, interference: Interference = NOTHING, width: int = WIDE, **more: Any) -> None:
    widgets.mount("arrow", message(interference, **more), width)


def changes(widgets: Widgets) -> list[dict[str, Any]]:
    return [said["interference"] for name, said in widgets.said() if name == "change"]


def word(widgets: Widgets, place: int) -> Locator:
    return widgets.page.locator(".word").nth(place)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_arrow_is_dragged_to_another_word_and_back(widgets: Widgets, width: int) -> None:
    page = widgets.page
    show(widgets, width=width)
    page.get_by_role("slider").hover()  # when it stands still
    page.mouse.down()
    page.mouse.move(*middle(word(widgets, 4)), steps=4)
    expect(word(widgets, 4)).to_have_class("word aimed")
    page.mouse.move(*middle(word(widgets, 6)), steps=2)
    assert changes(widgets) == []  # nothing is run before the arrow is let go
    page.mouse.up()
    assert changes(widgets) == [MOVED]
    expect(page.get_by_text("the model is running …")).to_be_visible()
    show(widgets, MOVED)
    expect(page.get_by_text("the model is running …")).to_have_count(0)
    expect(page.locator("mark").first).to_have_text("elle")
    expect(page.locator(".choice .was[data-value]")).to_have_text("93.8 %")
    expect(page.locator(".choice .is[data-value]")).to_have_text("3.1 %")
    page.get_by_role("slider").hover()  # when it stands still
    page.mouse.down()
    page.mouse.move(*middle(word(widgets, 1)), steps=3)
    page.mouse.up()
    assert changes(widgets)[1:] == [NOTHING]
    show(widgets)
    show(widgets, MOVED)
    page.get_by_role("button", name="Undo").click()
    assert changes(widgets)[2:] == [NOTHING]


def test_the_arrow_is_moved_by_keyboard(widgets: Widgets) -> None:
    page = widgets.page
    show(widgets)
    slider = page.get_by_role("slider", name="Arrow from it")
    expect(slider).to_have_attribute("aria-valuetext", "dog, 87.5 %")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "the (word 6), 87.5 %")
    page.keyboard.press("Escape")
    expect(slider).to_have_attribute("aria-valuetext", "dog, 87.5 %")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert changes(widgets) == [MOVED]
    expect(page.get_by_role("slider")).to_be_focused()
    show(widgets, MOVED)
    page.keyboard.press("Home")  # without Enter: after a short pause
    page.wait_for_function("window.said.length === 2")
    assert changes(widgets)[1] == {"change": "move", "source": 1, "target": 0}


def test_silence_and_the_way_back(widgets: Widgets) -> None:
    page = widgets.page
    show(widgets)
    ablate = page.get_by_role("button", name="Switch off the row of it")
    ablate.click()
    assert changes(widgets) == [SILENT]
    show(widgets, SILENT)
    expect(page.get_by_role("slider")).to_have_count(0)
    expect(ablate).to_have_attribute("aria-pressed", "true")
    ablate.click()
    page.get_by_role("button", name="Switch off the whole head").dblclick()  # ablates once
    assert [said["change"] for said in changes(widgets)] == ["row", "none", "head"]


def test_a_click_on_a_word_is_enough_and_another_arrow_asks_again_to_be_dragged(widgets: Widgets) -> None:
    show(widgets)
    hint = widgets.page.get_by_text("Drag me")
    expect(hint).to_be_visible()
    word(widgets, 6).click()
    assert changes(widgets) == [MOVED]
    undo = widgets.page.get_by_role("button", name="Undo all changes")
    expect(undo).to_have_count(0)
    show(widgets, MOVED)
    expect(hint).to_be_hidden()
    show(widgets, query=11, reader="[END]", others=1)
    expect(hint).to_be_visible()
    undo.click()
    assert widgets.said()[-1] == ["undo", {}]


def test_a_word_that_the_mask_closes_cannot_be_reached(widgets: Widgets) -> None:
    show(widgets, open_to=[place < 3 for place in range(len(WORDS))])
    word(widgets, 6).click()
    widgets.page.get_by_role("slider").focus()
    for key in ("End", "ArrowRight", "Enter"):
        widgets.page.keyboard.press(key)
    assert changes(widgets) == [{"change": "move", "source": 1, "target": 2}]


def test_a_reader_of_the_other_text_stands_behind_the_words(widgets: Widgets) -> None:
    show(widgets, query=None, reader="car")
    expect(widgets.page.locator(".word.query")).to_have_text("car")
    word(widgets, 6).click()
    assert changes(widgets) == [MOVED]
