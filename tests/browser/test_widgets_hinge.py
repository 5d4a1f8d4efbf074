"""The word that turns into another: scrubbed without asking the server, told when it is left."""

import numpy as np
from playwright.sync_api import expect

from attnviz.app.components.hinge import hinge, turning_point
from tests.browser.widgets import Widgets, sent_by

ROWS = np.array([[0.75, 0.25, 0, 0], [0.5, 0.375, 0, 0.125], [0.125, 0.75, 0, 0.125]])


def test_the_lines_and_words_follow_the_slider_and_python_hears_where_it_stays(widgets: Widgets) -> None:
    message = sent_by(
        hinge,
        "h",
        title="From tired to narrow",
        words=["<b>dog</b>", "road", "it", "tired"],
        query=2,
        place=3,
        ends=("tired", "narrow"),
        rows=ROWS,
        marks=[{"step": 2, "text": "road > dog"}],
        outcome=[{"word": "il", "probabilities": [0.9, 0.5, 0.0625]}],
        step=0,
        on_change=None,
    )
    widgets.mount("hinge", message)
    page = widgets.page
    expect(page.get_by_text("tired: it reads <b>dog</b> 75 %, road 25 %")).to_be_visible()
    page.get_by_role("slider", name="From tired to narrow").press("ArrowRight")
    said = "50 % tired, 50 % narrow: it reads <b>dog</b> 50 %, road 38 %, the word between 13 %."
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", said)
    expect(page.get_by_role("listitem")).to_have_text("il50.0 %")
    widths = [
        line.evaluate("one => parseFloat(one.style.strokeWidth)") for line in page.locator("path").all()
    ]
    assert widths == (1 + 9 * ROWS[1]).tolist()
    weights = [float(word.get_attribute("data-weight") or -1) for word in page.locator(".word").all()]
    assert weights == ROWS[1].tolist()
    assert widgets.said() == [["change", {"step": 1}]]


def test_the_turning_point_by_hand() -> None:
    falls, rises = np.array([0.75, 0.5, 0.25], np.float32), np.array([0.125, 0.5, 0.625], np.float32)
    assert turning_point(falls, rises) == 2  # at 0.5 neither is the larger one
    assert turning_point(rises, falls) is None  # it was the larger one at first
    assert turning_point(falls, np.zeros_like(falls)) is None
