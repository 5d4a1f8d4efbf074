"""The atlas: a thumbnail of each head in its place, and selection by mouse."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from attnviz.analysis.picture import MASKED, Kind, Levels, thumbnails
from tests.browser.visit import box_of, middle
from tests.browser.widgets import Widgets

LAYERS, HEADS = 3, 5

_TAKE_PICTURE = """
() => {
    const canvas = window.mounted.atlas.parentElement.querySelector("canvas");
    const drawn = canvas.toDataURL();
    canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    return drawn;
}
"""


def message(pixels: str, layers: int = LAYERS, heads: int = HEADS, **changes: Any) -> dict[str, Any]:
    facts = [f"fact {at}" for at in range(layers * heads)]
    selected = {"layer": 2, "heads": [4]}
    complete = {"pixels": pixels, "layers": layers, "heads": heads, "selected": selected, "facts": facts}
    return {**complete, "dim": [], "kind": "sequential", **changes}


def flat_pictures(size: int = 3) -> Any:
    """Return a picture in one colour for each head, with increasing levels, [head, size, size]."""
    return np.repeat(np.arange(LAYERS * HEADS, dtype=np.uint8) * 17, size * size).reshape(-1, size, size)


def brightness(widgets: Widgets) -> list[float]:
    """Return the brightness at the centre of each head's cell, in the order of the heads."""
    canvas = box_of(widgets.page.locator("canvas"))
    cells = map(middle, widgets.page.get_by_role("gridcell").all())
    middles = [(x - canvas["x"], y - canvas["y"]) for x, y in cells]
    return [float(np.dot(colour, (0.21, 0.72, 0.07))) for colour in widgets.pixels("atlas", middles)]


def head(widgets: Widgets, layer: int, number: int) -> Locator:
    return widgets.page.get_by_role("gridcell", name=f"Layer {layer}, head {number}:")


@pytest.mark.parametrize(("colour_scheme", "compare"), [("light", np.less), ("dark", np.greater)])
@pytest.mark.parametrize("as_thumbnails", [True, False])
def test_larger_weights_are_drawn_further_from_the_background(
    widgets: Widgets, compare: Callable[..., Any], as_thumbnails: bool
) -> None:
    order = np.random.default_rng(0).permutation(LAYERS * HEADS)
    shuffled = [[int(at) // HEADS + 1, int(at) % HEADS + 1] for at in order]
    pictures = flat_pictures()
    arrays = (
        {"pixels": 0 * pictures[:1], "thumbnails": pictures} if as_thumbnails else {"pixels": pictures[order]}
    )
    widgets.mount("atlas", message(widgets.publish("p", arrays, heads=shuffled)))
    shown = brightness(widgets)
    assert np.all(compare(shown[1:], shown[:-1])), shown


def random_levels(shape: tuple[int, ...], masked: str = "nowhere") -> Levels:
    """Return random levels.

    Args:
        shape: [head, query, key].
        masked: "nowhere", "above the diagonal", or "in places" (a block and random cells).
    """
    generator = np.random.default_rng(1)
    levels = generator.integers(0, MASKED, shape, dtype=np.uint8)
    if masked == "above the diagonal":
        levels[:, *np.triu_indices(n=shape[1], k=1, m=shape[2])] = MASKED
    elif masked == "in places":
        levels[:, :7, :9] = MASKED
        levels[generator.random(shape) < 0.3] = MASKED
    return levels


def test_pictures_look_like_their_thumbnails(widgets: Widgets) -> None:
    order = np.random.default_rng(2).permutation(LAYERS * HEADS)
    heads = [[int(at) // HEADS + 1, int(at) % HEADS + 1] for at in order]
    kinds: tuple[Kind, ...] = ("sequential", "diverging")
    masks = ("nowhere", "above the diagonal", "in places")
    for size, kind, masked in product(((47, 61), (37, 29), (128, 128)), kinds, masks):
        levels = random_levels((LAYERS * HEADS, *size), masked)
        small = widgets.publish("small", {"thumbnails": thumbnails(levels, kind)}, heads=[])
        complete = widgets.publish("whole", {"pixels": levels[order]}, heads=heads)
        widgets.mount("atlas", message(small, kind=kind, dim=[3, 8]))
        expected = widgets.page.evaluate(_TAKE_PICTURE)
        widgets.show("atlas", message(complete, kind=kind, dim=[3, 8]))
        assert widgets.page.evaluate(_TAKE_PICTURE) == expected, (size, kind, masked)


def test_atlas_waits_for_its_pictures(widgets: Widgets) -> None:
    pixels = widgets.publish("p", {"thumbnails": flat_pictures()}, heads=[])
    widgets.unmount("store p")
    widgets.mount("atlas", message(pixels))
    expect(widgets.page.locator("[data-waiting]")).to_have_count(1)
    widgets.publish("p", {"thumbnails": flat_pictures()}, heads=[])
    expect(widgets.page.locator("[data-waiting]")).to_have_count(0)
    assert len(set(brightness(widgets))) == LAYERS * HEADS


def test_a_click_selects_a_head_before_the_server_answers(widgets: Widgets) -> None:
    widgets.mount("atlas", message("none yet"))
    expect(widgets.page.get_by_role("gridcell", selected=True)).to_have_accessible_name(
        "Layer 2, head 4: fact 8"
    )
    head(widgets, 3, 1).click()
    expect(widgets.page.get_by_role("gridcell", selected=True)).to_have_accessible_name(
        "Layer 3, head 1: fact 10"
    )
    assert widgets.events() == [
        ["attnviz:heads", {"layer": 3, "heads": [1]}],
        ["pick", {"layer": 3, "head": 1}],
    ]
