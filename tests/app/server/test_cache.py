"""The server's cache: its limit, the order of eviction, and new values after model files change."""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import cachetools
import numpy as np
import pytest
from streamlit.runtime.app_session import AppSession

from attnviz.app.models import lookup
from attnviz.app.server import cache
from attnviz.app.server.cache import cached, size_of
from attnviz.models.catalogue import Entry
from tests.capture.tiny import tiny


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of 10 KB in place of the server's cache."""
    monkeypatch.setattr(cache, "_cache", cachetools.LRUCache(10_000, attrgetter("bytes")))


def zeros(kilobytes: int) -> np.typing.NDArray[np.uint8]:
    return np.zeros(1_000 * kilobytes, np.uint8)


@pytest.mark.usefixtures("memory")
def test_functions_share_one_limit_and_evict_the_least_recently_used_value() -> None:
    computed: list[str] = []

    @cached()
    def one(text: str) -> object:
        computed.append(text)
        return zeros(4)

    @cached()
    def other(text: str) -> object:
        computed.append(text)
        return zeros(3)

    first = one("a")
    other("a")
    assert one("a") is first
    assert cache.size() == 7_000
    one("b")  # 11 KB exceeds the limit; other("a") is the least recently used
    assert one("a") is first
    assert computed == ["a", "a", "b"]
    other("a")
    assert computed == ["a", "a", "b", "a"]
    assert cache.size() <= 10_000
    cache.clear()
    assert cache.size() == 0


def test_nested_arrays_are_counted_once_each() -> None:
    @dataclass(frozen=True)
    class Held:
        arrays: tuple[object, ...]
        named: dict[str, object]
        projection: object = None

    array = zeros(5)
    held = Held((array, array, b"x" * 2_000), {"name": zeros(1)}, projection=zeros(9))
    assert 8_000 < size_of(held) < 9_000  # W_O is not counted: all traces of a model share it


@pytest.mark.usefixtures("memory")
def test_visitors_cannot_clear_the_cache() -> None:
    compute = cached()(object)
    value, session = compute(), SimpleNamespace(_session_state={})
    AppSession._handle_clear_cache_request(session)  # type: ignore[arg-type]  # "clear_cache" from a browser
    assert compute() is value


def test_value_is_recomputed_when_the_models_files_change(tmp_path: Path) -> None:
    model = str(tiny("bert", tmp_path / "bert"))
    computed: list[str] = []

    @cached()
    def compute(model: Entry) -> None:
        computed.append(model.name)

    def compute_both() -> list[str]:
        compute(lookup.entry(model))
        compute(lookup.entry("minilm"))
        return computed

    assert compute_both() == [model, "minilm"]
    assert compute_both() == [model, "minilm"]
    (tmp_path / "bert" / "README.md").write_text("Changed.")
    assert len(compute_both()) == 2  # files are checked only once every half minute
    lookup.clear()
    assert compute_both() == [model, "minilm", model]
