"""The store: arrays reach the browser unchanged, have names derived from their contents, and are removed."""

from typing import Any

import numpy as np
import pytest

from attnviz.app.components import store
from tests.browser.widgets import Widgets, captured_messages

_READ = """
id => {
    const { facts, arrays } = window.attnviz.get(id);
    return [facts, Object.entries(arrays).map(([name, { shape, values }]) =>
        [name, values.constructor.name, shape, [...values]])];
}
"""


def stored_names(widgets: Widgets) -> list[str]:
    ids: list[str] = widgets.page.evaluate("[...window.attnviz.keys()]")
    return ids


def test_arrays_arrive_bit_for_bit(widgets: Widgets) -> None:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (3, 5, 7), dtype=np.uint8)  # 105 bytes, so the next array is not aligned
    values = random.standard_normal((2, 5, 7)).astype(np.float32)
    values[1, 2, 3] = np.nan
    arrays: dict[str, Any] = {"pixels": pixels, "values": values.transpose(0, 2, 1)}
    identifier = widgets.publish("k", arrays, heads=[[4, 2]], text="שלום 👩")
    facts, [first, second] = widgets.page.evaluate(_READ, identifier)
    assert facts == {"heads": [[4, 2]], "text": "שלום 👩"}
    assert first == ["pixels", "Uint8Array", [3, 5, 7], pixels.ravel().tolist()]
    assert second[:3] == ["values", "Float32Array", [2, 7, 5]]
    np.testing.assert_array_equal(np.float32(second[3]), values.transpose(0, 2, 1).ravel())


def test_name_depends_on_the_contents() -> None:
    ones = np.ones((3, 5), np.float32)
    with captured_messages() as messages:
        names = [
            store.publish("k", {"a": ones}, layer=1),
            store.publish("k", {"a": ones.copy()}, layer=1),
            store.publish("k", {"a": np.nextafter(ones, 2)}, layer=1),
            store.publish("k", {"a": ones.reshape(5, 3)}, layer=1),
            store.publish("k", {"a": ones}, layer=2),
            store.publish("other", {"a": ones}, layer=1),
        ]
    assert names[0] == names[1]
    assert messages[0] == messages[1]
    assert len(set(names)) == 5


def test_array_of_another_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match="weights is float64"):
        store.publish("k", {"weights": np.zeros(3)})


def test_browser_keeps_two_latest_arrays_of_each_key_until_unmounted(widgets: Widgets) -> None:
    names = [widgets.publish("a", {"x": np.full(3, n, np.uint8)}) for n in (1, 2, 3)]
    other = widgets.publish("b", {"x": np.full(3, 1, np.uint8)})
    assert stored_names(widgets) == [names[1], names[2], other]
    widgets.publish("a", {"x": np.full(3, 2, np.uint8)})
    newest = widgets.publish("a", {"x": np.full(3, 4, np.uint8)})
    assert stored_names(widgets) == [other, names[1], newest]
    widgets.unmount("store a")
    assert stored_names(widgets) == [other]
