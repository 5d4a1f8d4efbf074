"""What the server keeps: bounded by bytes, computed once for all who ask at once, and anew for new files."""

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
    """A cache of 10 KB in place of the server's."""
    monkeypatch.setattr(cache, "_cache", cachetools.LRUCache(10_000, attrgetter("bytes")))


def zeros(kilobytes: int) -> np.typing.NDArray[np.uint8]:
    return np.zeros(1_000 * kilobytes, np.uint8)


@pytest.mark.usefixtures("memory")
def test_functions_share_one_bound_and_the_least_recently_used_value_goes_first() -> None:
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
    one("b")  # 11 KB would be too many, and other("a") was not asked for since
    assert one("a") is first
    assert computed == ["a", "a", "b"]
    other("a")
    assert computed == ["a", "a", "b", "a"]
    assert cache.size() <= 10_000
    cache.clear()
    assert cache.size() == 0


def test_arrays_are_counted_wherever_they_stand_and_each_once() -> None:
    @dataclass(frozen=True)
    class Held:
        arrays: tuple[object, ...]
        named: dict[str, object]
        projection: object = None

    array = zeros(5)
    held = Held((array, array, b"x" * 2_000), {"name": zeros(1)}, projection=zeros(9))
    assert 8_000 < size_of(held) < 9_000  # without W_O, which all traces of a model share


@pytest.mark.usefixtures("memory")
def test_no_visitor_can_empty_it() -> None:
    kept = cached()(object)
    value, visit = kept(), SimpleNamespace(_session_state={})
    AppSession._handle_clear_cache_request(visit)  # type: ignore[arg-type]  # "clear_cache" of a browser
    assert kept() is value


def test_a_value_is_computed_anew_when_its_models_files_have_changed(tmp_path: Path) -> None:
    model = str(tiny("bert", tmp_path / "bert"))
    computed: list[str] = []

    @cached()
    def compute(model: Entry) -> None:
        computed.append(model.name)

    def ask() -> list[str]:
        compute(lookup.entry(model))
        compute(lookup.entry("minilm"))
        return computed

    assert ask() == [model, "minilm"]
    assert ask() == [model, "minilm"]
    (tmp_path / "bert" / "README.md").write_text("Changed.")
    assert len(ask()) == 2  # for half a minute nobody looks
    lookup.clear()
    assert ask() == [model, "minilm", model]
