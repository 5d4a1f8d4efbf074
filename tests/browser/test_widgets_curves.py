"""The curves: points at their places on linear and logarithmic axes, read off, and saved."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from attnviz.app.components.curves import Axis, Line, curves
from tests.browser.visit import box_of
from tests.browser.widgets import Widgets, sent_by

POWERS = np.array([1, 2, 4, 8, 16, 32])
MEASURED = np.array([1.5, 2.26, 3.5, 9.0, 14.0, 40.0])

_DRAWN = """
selector => [...window.mounted.curves.parentElement.querySelectorAll(".picture " + selector)].map((node) => {
    const { x, y, width, height } = node.getBBox();
    return [x + width / 2, y + height / 2, width, height];
})
"""
_TEXTS = """
() => [...window.mounted.curves.parentElement.querySelectorAll(".picture text")].map((node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    return { text: node.textContent, left, right, top, bottom };
})
"""


def message(*lines: Line, **changes: Any) -> dict[str, Any]:
    """What Python sends to the browser."""
    axes = {"across": Axis("d", log=2), "up": Axis("variance", log=10)}
    words = {"title": "Growth", "alt": "It grows from 1.50 to 40.00."}
    return sent_by(curves, "chart", lines, **{**axes, **words, **changes})


def measured(**changes: Any) -> Line:
    return Line(
        "measured", POWERS, MEASURED, MEASURED / 2, MEASURED * 2, dash=None, marker="circle", **changes
    )


THEORY = Line("theory", POWERS, POWERS, dash="dash", colour="muted")


def drawn(widgets: Widgets, selector: str) -> Any:
    """The middle, width and height of each such shape."""
    return np.array(widgets.page.evaluate(_DRAWN, selector))


def straight(pixels: Any, numbers: Any) -> bool:
    """Whether pixels and numbers belong together by one factor and one offset."""
    fit = np.polyfit(numbers, pixels, 1)
    return bool(np.abs(np.polyval(fit, numbers) - pixels).max() < 0.05)


def test_equal_factors_on_logarithmic_axes_and_equal_differences_on_linear_ones_lie_equally_far_apart(
    widgets: Widgets,
) -> None:
    widgets.mount("curves", message(THEORY, measured()))
    expect(widgets.page.get_by_role("img", name="It grows from 1.50 to 40.00.")).to_be_visible()
    # The first marker is the legend's.
    markers, errors = drawn(widgets, ".marker")[1:], drawn(widgets, ".error")[1:]
    assert straight(markers[:, 0], np.log2(POWERS))
    assert straight(markers[:, 1], np.log10(MEASURED))
    assert markers[0, 0] < markers[-1, 0]
    assert markers[0, 1] > markers[-1, 1]
    factor = (markers[0, 1] - markers[-1, 1]) / np.log10(MEASURED[-1] / MEASURED[0])
    # From half to twice the value: a factor of four.
    assert errors[:, 3] == pytest.approx(np.full(len(POWERS), factor * np.log10(4)), abs=0.1)
    assert errors[:, :2] == pytest.approx(markers[:, :2], abs=0.1)
    widgets.show("curves", message(measured(), across=Axis("d"), up=Axis("variance", zero=True)))
    markers = drawn(widgets, ".marker")
    assert straight(markers[:, 0], POWERS)
    assert straight(markers[:, 1], MEASURED)


def test_of_a_plane_both_axes_have_one_scale(widgets: Widgets) -> None:
    angle = np.arange(5.0)
    circle = Line("turned", 3 * np.cos(angle), 3 * np.sin(angle), dash=None, marker="circle")
    widgets.mount("curves", message(circle, plane=True, across=Axis("first"), up=Axis("second")))
    x, y = drawn(widgets, ".marker")[:, :2].T
    for at in range(1, 5):
        chord = np.hypot(x[at] - x[0], y[at] - y[0])
        assert chord == pytest.approx(
            np.hypot(x[1] - x[0], y[1] - y[0]) * np.sin(at / 2) / np.sin(0.5), rel=0.01
        )


@pytest.mark.parametrize("width", [751, 500, 326])
def test_of_a_plane_the_marks_lie_equally_far_apart(widgets: Widgets, width: int) -> None:
    x, y = np.array([[-0.29, 0.36, -0.01, 0.05], [-0.32, 0.36, 0.27, 0.08]])
    heads = Line("heads", x, y, dash=None, marker="circle")
    across, up = Axis("first"), Axis("second")
    widgets.mount("curves", message(heads, plane=True, across=across, up=up, height=380), width)
    boxes = drawn(widgets, "text")
    told = widgets.page.locator(".picture text").all_text_contents()
    marks = {at: float(text.replace("−", "-")) for at, text in enumerate(told) if "." in text}
    below = boxes[:, 1].max() - 40
    for axis in (
        [number for at, number in marks.items() if boxes[at, 1] > below],
        [number for at, number in marks.items() if boxes[at, 1] <= below],
    ):
        assert len(axis) >= 3
        assert np.diff(axis) == pytest.approx(np.full(len(axis) - 1, axis[1] - axis[0]))
        assert 0 in axis


def test_marks_that_have_no_room_are_left_out_evenly(widgets: Widgets) -> None:
    sold = 5_000_000 * np.arange(9)
    widgets.mount("curves", message(Line("sold", sold, sold), across=Axis("sold"), up=Axis("earned")), 530)
    boxes = drawn(widgets, "text")
    told = widgets.page.locator(".picture text").all_text_contents()
    lowest = np.sort(boxes[:, 1])[-2]
    marks = [int(text.replace(",", "")) for text, box in zip(told, boxes, strict=True) if box[1] == lowest]
    assert len(marks) >= 3
    assert len(set(np.diff(marks))) == 1


@pytest.mark.parametrize("width", [700, 326, 200])
def test_no_text_hides_another_or_leaves_the_picture(widgets: Widgets, width: int) -> None:
    printed = [f"{value:.2f}" for value in MEASURED]
    shown = message(THEORY, measured(printed=printed), marked=8, across=Axis("d, entries of q and k", log=2))
    widgets.mount("curves", shown, width)
    texts = widgets.page.evaluate(_TEXTS)
    edge = box_of(widgets.page.locator(".root"))
    assert "8" in [one["text"] for one in texts]
    for number, one in enumerate(texts):
        assert one["left"] >= edge["x"] - 1, one
        assert one["right"] <= edge["x"] + edge["width"] + 1, one
        for other in texts[number + 1 :]:
            apart = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert apart or one["bottom"] <= other["top"] + 5 or other["bottom"] <= one["top"] + 5, (
                one,
                other,
            )


def test_the_keyboard_reads_every_number(widgets: Widgets) -> None:
    widgets.mount("curves", message(THEORY, measured(), across=Axis("d", log=2, at="d = {x}"), marked=4))
    slider = widgets.page.get_by_role("slider", name="Read off: Growth")
    widgets.page.keyboard.press("Tab")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "d = 4: theory 4.00; measured 3.50 (1.75 to 7.00)")
    widgets.page.keyboard.press("Home")
    for d, value in zip(POWERS, MEASURED, strict=True):
        said = f"d = {d}: theory {d:.2f}; measured {value:.2f} ({value / 2:.2f} to {2 * value:.2f})"
        expect(slider).to_have_attribute("aria-valuetext", said)
        expect(widgets.page.locator(".tip b")).to_have_text(
            [f"{d:.2f}", f"{value:.2f} ({value / 2:.2f} to {2 * value:.2f})"]
        )
        widgets.page.keyboard.press("ArrowRight")
    widgets.page.keyboard.press("Escape")
    expect(widgets.page.locator(".tip")).to_be_hidden()


def test_pointing_reads_the_nearest_place_and_the_faint_line_beside_the_pointer(widgets: Widgets) -> None:
    other = Line("<b>road</b>", POWERS, 10 * MEASURED, faint=True)
    widgets.mount(
        "curves", message(measured(), other, faint="other tokens", across=Axis("d", log=2, at="d = {x}"))
    )
    page, slider = widgets.page, widgets.page.get_by_role("slider")
    box = box_of(page.locator(".root"))
    x, y = drawn(widgets, ".marker")[2][:2]  # after the legend's and that of d = 1
    page.mouse.move(box["x"] + x + 8, box["y"] + y + 3)
    expect(page.locator(".tip")).to_contain_text("d = 2")
    expect(page.locator(".tip .label")).to_have_text(["measured"])
    for key in ("Tab", "ArrowUp"):
        page.keyboard.press(key)
    expect(slider).to_have_attribute(
        "aria-valuetext", "d = 2: measured 2.26 (1.13 to 4.52); <b>road</b> 22.60"
    )
    page.mouse.move(5, 600)
    expect(page.locator(".tip")).to_be_visible()
