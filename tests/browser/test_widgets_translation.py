"""The picture of a translation by itself: its lines are the weights it was given."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from attnviz.app.lessons.translate.translation import DrawnAttention, translation
from attnviz.widgets.tokens import ShownToken
from tests.browser.widgets import Widgets, sent_by

SVG = "{http://www.w3.org/2000/svg}"
ENGLISH = ["the", "<b>dog</b>", "did", "not", "cross", "as", "it", "was", "tired", "[END]"]
FRENCH = ["le", "chien", "n'", "a", "pas", "traversé", "car", "il", "était", "fatigué"]
IT, DOG, IL = 6, 1, 7


def words(*labels: str) -> list[ShownToken]:
    return [ShownToken(label=label, name=label, title="", special=label[0] == "[") for label in labels]


def weights(seed: int, heads: int, queries: int, keys: int) -> NDArray[np.float64]:
    powers = np.random.default_rng(seed).random((heads, queries, keys)) ** 8
    shares: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def message(row: int = IL, times: int = 1) -> dict[str, Any]:
    """What Python sends to the browser; a sentence of several times the length at wish."""
    english, french = ENGLISH * times, FRENCH * times
    rows = len(french) + 1
    encoder, cross = weights(0, 1, len(english), len(english)), weights(1, 4, rows, len(english))
    encoder[0, IT] = 0.1 * encoder[0, IT] + 0.9 * np.eye(len(english))[DOG]
    cross[:, IL] = 0.2 * cross[:, IL] + 0.8 * np.eye(len(english))[IT]
    back = np.tril(weights(2, 1, rows, rows)) + 1e-9
    back /= back.sum(axis=-1, keepdims=True)
    return sent_by(
        translation,
        "picture",
        source=words(*english),
        target=words("[START]", *french),
        written=words(*french, "[END]"),
        row=row,
        encoder=DrawnAttention(caption="layer 2, head 1", heads=[1], weights=encoder.tolist()),
        cross=DrawnAttention(caption="all 4 heads", heads=[1, 2, 3, 4], weights=cross.tolist()),
        decoder=DrawnAttention(caption="head 3", heads=[3], weights=back.tolist()),
        title="<b>dog</b> & chien",
        on_pick=None,
    )


def drawn(page: Page, kind: str) -> list[list[float]]:
    """The shares that each drawn bundle of lines stands for, one for each head."""
    bundles = page.locator(f".bundle.{kind}")
    texts = [str(bundle.get_attribute("data-weights")) for bundle in bundles.all()]
    return [[float(share) for share in text.split()] for text in texts]


def seen(shares: NDArray[np.float64]) -> list[list[float]]:
    """[head, key]: what should be drawn, the strongest last."""
    return sorted((list(one) for one in shares.T if one.max() >= 0.02), key=max)


def test_a_word_shows_what_its_row_read_and_what_that_read(widgets: Widgets) -> None:
    data = message()
    widgets.mount("translation", data, 800)
    page = widgets.page
    cross, encoder = np.array(data["cross"]["weights"]), np.array(data["encoder"]["weights"])
    assert drawn(page, "across") == seen(cross[:, IL])
    assert drawn(page, "before") == seen(encoder[:, IT])
    page.get_by_role("radio", name="chien, word 2").click()
    assert drawn(page, "across") == seen(cross[:, 1])
    most = int(cross[:, 1].max(axis=0).argmax())
    assert drawn(page, "before") == seen(encoder[:, most])
    page.wait_for_function("window.said.length")
    assert widgets.said() == [["pick", {"row": 1}]]
    # An English word shows what it read, and who read it.
    dog = page.get_by_role("button", name="<b>dog</b>")
    dog.click()
    expect(dog).to_have_attribute("aria-pressed", "true")
    assert drawn(page, "before") == seen(encoder[:, DOG])


def test_it_is_stepped_through_by_keyboard(widgets: Widgets) -> None:
    widgets.mount("translation", message(), 800)
    page = widgets.page
    page.get_by_role("radio", name="il, word 8").press("ArrowRight")
    expect(page.get_by_role("radio", name="était, word 9")).to_be_focused()
    expect(page.get_by_role("radio", checked=True)).to_have_text("était")
    page.keyboard.press("End")
    page.wait_for_function("window.said.at(-1)?.[1].row === 10")
    expect(page.get_by_role("radio", checked=True)).to_have_text("[END]")


@pytest.mark.parametrize(("width", "times", "standing"), [(800, 1, False), (800, 3, True), (326, 1, True)])
def test_long_sentences_and_small_screens_stand_upright(
    widgets: Widgets, width: int, times: int, standing: bool
) -> None:
    widgets.mount("translation", message(times=times), width)
    page = widgets.page
    boxes = [radio.bounding_box() for radio in page.get_by_role("radio").all()]
    assert len({box["x" if standing else "y"] for box in boxes if box}) == 1
    root = page.locator(".root")
    assert root.evaluate("root => root.scrollWidth <= root.clientWidth")
