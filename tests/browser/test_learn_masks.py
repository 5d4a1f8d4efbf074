"""Who may look at whom: a mask drawn cell by cell, and the numbers of transformers behind the same mask."""

import re
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from attnviz.trace import Mask
from tests.browser.reference import names
from tests.browser.server import Server
from tests.browser.visit import PHONE, axe, visit, wait_idle
from tests.browser.widgets import Widgets
from tests.reference_bert import forward

TIRED = "The dog did not cross the road as it was too tired."

_CELLS = """
all => all.map(cell => ({
    open: cell.getAttribute("aria-selected") === "true",
    value: cell.dataset.value === undefined ? null : Number(cell.dataset.value),
    text: cell.textContent,
}))
"""


def window(count: int, before: int, after: int) -> Mask:
    distance = np.arange(count)[None] - np.arange(count)[:, None]
    return (distance >= -before) & (distance <= after)


def editor(page: Page) -> Locator:
    return page.get_by_role("grid", name="Mask: who may look at whom")


def focused(page: Page) -> str:
    label: str = page.evaluate("document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')")
    return label


def check_mask(page: Page, mask: Mask) -> list[dict[str, Any]]:
    """The cells, once all of those that the mask opens, and no others, are shown as open."""
    expect(editor(page).get_by_role("gridcell")).to_have_count(mask.size, timeout=30_000)
    cells: list[dict[str, Any]] = editor(page).get_by_role("gridcell").evaluate_all(_CELLS)
    assert [cell["open"] for cell in cells] == mask.ravel().tolist()
    return cells


def check_weights(page: Page, text: str, mask: Mask, layer: int, head: int) -> None:
    """Every open cell shows the weight that transformers gives, and no closed cell a number."""
    expected = forward(text, mask).weights[layer - 1, head - 1].ravel()
    for cell, weight in zip(check_mask(page, mask), expected, strict=True):
        if not cell["open"]:
            assert weight == 0
            assert (cell["value"], cell["text"]) == (None, "")
            continue
        assert cell["value"] == pytest.approx(weight, abs=1e-5)
        assert abs(float(cell["text"] or 0) - 100 * weight) <= 0.5 + 1e-3


def open_page(page: Page, server: Server, **choices: Any) -> None:
    visit(page, f"{server.url}/masks?{urlencode(choices)}")


def test_cells_drawn_by_keyboard_give_the_weights_that_transformers_gives(page: Page, server: Server) -> None:
    layer, head = 5, 3
    open_page(page, server, mask="window", mask_size=2, mask_after=1, layer=layer, head=head)
    expect(page.get_by_role("heading", level=1, name="Who may look at whom?")).to_be_visible()
    read = forward(TIRED)
    mask = window(len(read.tokens), 2, 1)
    check_weights(page, TIRED, mask, layer, head)

    it, dog = read.tokens.index("it"), read.tokens.index("dog")
    editor(page).get_by_role("gridcell", name="it → it:").focus()
    page.keyboard.press("Space")
    mask[it, it] = False
    for _ in range(it - dog):
        page.keyboard.press("ArrowLeft")
    assert focused(page) == "it → dog: closed"
    page.keyboard.press("Enter")
    mask[it, dog] = True
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    mask[it + 1, dog] = True
    wait_idle(page)
    check_weights(page, TIRED, mask, layer, head)
    assert focused(page).startswith("was → dog: open, ")

    # The sentence below says the same in words.
    called = names(read.tokens)
    row = forward(TIRED, mask).weights[layer - 1, head - 1, it]
    strongest = int(row.argmax())
    written = f"with your mask, at {called[strongest]} {100 * row[strongest]:.0f} %"
    expect(page.get_by_text(written)).to_be_visible()

    # The link that stands in the address bar brings the drawn mask back.
    again = page.context.new_page()
    visit(again, page.url)
    check_weights(again, TIRED, mask, layer, head)


def test_a_row_without_an_open_cell_is_refused_and_shows_no_number(page: Page, server: Server) -> None:
    open_page(page, server, mask="none")
    read = forward(TIRED)
    mask = np.ones((len(read.tokens), len(read.tokens)), bool)
    editor(page).get_by_role("button", name="dog: the whole row of dog, query", exact=True).focus()
    page.keyboard.press("Enter")
    mask[read.tokens.index("dog")] = False
    wait_idle(page)
    alert = page.get_by_role("alert").filter(has_text="Not computed.")
    expect(alert).to_contain_text("lets token 3 look nowhere: a softmax over nothing has no value")
    assert all((cell["value"], cell["text"]) == (None, "") for cell in check_mask(page, mask))
    expect(editor(page).get_by_role("button", name="⚠ dog, looks nowhere")).to_be_visible()
    expect(page.get_by_text("with your mask, at")).to_have_count(0)

    editor(page).get_by_role("gridcell", name="dog → road:").focus()
    page.keyboard.press("Space")
    mask[read.tokens.index("dog"), read.tokens.index("road")] = True
    wait_idle(page)
    expect(alert).to_have_count(0)
    check_weights(page, TIRED, mask, 4, 2)


def test_the_mouse_draws_over_cells_and_the_change_is_with_minus_without(page: Page, server: Server) -> None:
    open_page(page, server, mask="causal", mask_shows="change")
    read = forward(TIRED)
    mask = window(len(read.tokens), len(read.tokens), 0)
    it = read.tokens.index("it")
    cells = editor(page).get_by_role("gridcell")
    cells.last.scroll_into_view_if_needed()
    for key, act in ((it + 1, page.mouse.down), (it + 3, page.mouse.up)):
        box = cells.nth(it * len(read.tokens) + key).bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=9)
        act()
    mask[it, it + 1 : it + 4] = True
    wait_idle(page)
    change = forward(TIRED, mask).weights[3, 1] - read.weights[3, 1]
    for cell, exact in zip(check_mask(page, mask), change.ravel(), strict=True):
        assert cell["value"] == pytest.approx(exact, abs=1e-5)


def test_the_first_stroke_does_not_move_the_cells_away(page: Page, server: Server) -> None:
    open_page(page, server, mask="window")
    place = editor(page).bounding_box()
    editor(page).get_by_role("gridcell", name="dog → tired:").click()
    wait_idle(page)
    after = editor(page).bounding_box()
    assert place
    assert after
    assert after["y"] == pytest.approx(place["y"], abs=8)


def test_outputs_move_as_far_as_in_transformers(page: Page, server: Server) -> None:
    open_page(page, server, edited="3 dog", replacement="cat")
    count = len(forward(TIRED).tokens)
    causal = window(count, count, 0)
    for title, mask in (("Encoder: no mask, as in BERT", None), ("Decoder: causal mask, as in GPT", causal)):
        before, after = (
            forward(text, mask).outputs.astype(float) for text in (TIRED, TIRED.replace("dog", "cat"))
        )
        norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        distance = 1 - (before * after).sum(axis=1) / norms
        shown = page.get_by_role("list", name=title).get_by_role("listitem")
        moved = shown.evaluate_all("all => all.map(one => Number(one.dataset.distance))")
        assert moved == pytest.approx(distance.tolist(), abs=1e-5)
        same = shown.evaluate_all("all => all.map(one => one.textContent.endsWith('= same'))")
        assert same == [mask is not None and place < 2 for place in range(count)]


# The widget alone: what it shows before Python has answered.


@pytest.fixture
def drawing(page: Page) -> Widgets:
    return Widgets.on(page)


def message(mask: str, with_mask: list[float] | None) -> dict[str, Any]:
    labels = ["a", "b", "c"]
    return {
        "tokens": [{"label": label, "name": label, "title": "", "special": False} for label in labels],
        "mask": mask,
        "without": [0.2, 0.3, 0.5] * 3,
        "with_mask": with_mask,
        "shows": "with mask",
        "query": 1,
    }


def numbers(page: Page) -> list[str]:
    texts: list[str] = editor(page).get_by_role("gridcell").evaluate_all("all => all.map(c => c.textContent)")
    return texts


CAUSAL = [1, 0, 0, 0.4, 0.6, 0, 0.2, 0.3, 0.5]


def test_until_python_answers_the_numbers_of_the_former_mask_are_gone(drawing: Widgets) -> None:
    page = drawing.page
    drawing.mount("mask_editor", message("8-c-e", CAUSAL))
    assert numbers(page) == ["100", "", "", "40", "60", "", "20", "30", "50"]
    editor(page).get_by_role("gridcell", name="a → b:").click()
    assert ["draw", {"mask": "c-c-e"}] in drawing.said()
    expect(editor(page).get_by_role("gridcell", name="a → b: open")).to_be_visible()
    assert numbers(page) == [""] * 9
    # A second stroke, and then the answer to the first one: the second stays, still without numbers.
    editor(page).get_by_role("gridcell", name="b → c:").click()
    drawing.show("mask_editor", message("c-c-e", [0.5, 0.5, 0, *CAUSAL[3:]]))
    expect(editor(page).get_by_role("gridcell", name="b → c: open")).to_be_visible()
    assert numbers(page) == [""] * 9
    drawing.show("mask_editor", message("c-e-e", [0.5, 0.5, 0, 0.1, 0.2, 0.7, *CAUSAL[6:]]))
    assert numbers(page) == ["50", "50", "", "10", "20", "70", "20", "30", "50"]


def test_a_whole_column_and_all_cells_at_once(drawing: Widgets) -> None:
    page = drawing.page
    drawing.mount("mask_editor", message("8-c-e", CAUSAL))
    editor(page).get_by_role("button", name="c: the whole column of c, key").click()
    editor(page).get_by_role("button", name="c: the whole column of c, key").click()
    editor(page).get_by_role("button", name="all: open every cell").click()
    assert drawing.said() == [["draw", {"mask": text}] for text in ("a-e-e", "8-c-c", "e-e-e")]


@pytest.mark.parametrize("viewport", [PHONE])
def test_a_finger_taps_a_cell(page: Page, server: Server) -> None:
    open_page(page, server, mask="causal")
    read = forward(TIRED)
    mask = window(len(read.tokens), len(read.tokens), 0)
    editor(page).get_by_role("gridcell", name="dog → [CLS]:").tap()
    mask[read.tokens.index("dog"), 0] = False
    wait_idle(page)
    check_weights(page, TIRED, mask, 4, 2)


def test_the_section_on_a_model_shows_that_models_masks(page: Page, server: Server) -> None:
    open_page(page, server, in_your_model="true", model="translator", own_kind="Decoder")
    masks = page.get_by_role("listitem").filter(has_text=re.compile("^(Encoder|Decoder|Cross), "))
    expect(masks).to_have_text(
        [
            re.compile("^Encoder, layers 1–2: no mask"),
            re.compile("^Decoder, layer 1: causal"),
            re.compile("^Cross, layer 1: no mask"),
        ]
    )
    matrix = page.get_by_role("application").first
    matrix.focus()
    words = page.locator("p[aria-live=polite]").filter(has_text="→").first
    page.keyboard.press("ArrowRight")
    expect(words).to_contain_text(re.compile("masked|0.00"))
    assert axe(page) == []
