import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from attnviz.capture import catalogue, loading
from attnviz.errors import EmptyText, ModelFilesDamaged, UnknownModel
from attnviz.trace import Token, Trace


class Fake:
    """Stands for a loaded model."""

    def __init__(self, name: str) -> None:
        self.name = name

    def tokens(self, text: str) -> tuple[Token, ...]:
        return (Token(text, 0, 0, len(text), 0, special=False),)

    def trace(self, text: str) -> Trace:
        return Trace(model=self.name, text=text, blocks=())


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Six models in the catalogue, none of them loaded; the list tells which were opened."""
    names: list[str] = []

    def open_fake(entry: catalogue.Entry) -> Fake:
        names.append(entry.name)
        return Fake(entry.name)

    minilm = catalogue.entry("minilm")
    monkeypatch.setattr(catalogue, "_ENTRIES", {name: replace(minilm, name=name) for name in "abcdef"})
    monkeypatch.setattr(loading, "_open", open_fake)
    monkeypatch.setattr(loading, "_models", type(loading._models)())
    return names


def test_a_model_is_opened_once(opened: list[str]) -> None:
    assert loading.load("a") is loading.load("a")
    assert opened == ["a"]


def test_ready_tells_without_loading(opened: list[str]) -> None:
    assert not loading.ready("a")
    assert opened == []
    loading.load("a")
    assert loading.ready("a")
    assert not loading.ready("b")
    with pytest.raises(UnknownModel):
        loading.ready("z")


def test_the_longest_unused_model_makes_room(opened: list[str]) -> None:
    for name in "abcdae":
        loading.load(name)
    assert opened == list("abcde")
    assert [name for name in "abcdef" if loading.ready(name)] == list("acde")
    assert len(loading._models) == loading.MOST_MODELS


def test_a_loaded_model_is_found_while_another_one_loads(opened: list[str]) -> None:
    kept = loading.load("a")
    assert opened == ["a"]
    with loading.gate:
        found: list[loading.Model] = []
        thread = threading.Thread(target=lambda: found.append(loading.load("a")))
        thread.start()
        thread.join(timeout=10)
        assert found == [kept]


def test_a_failed_load_is_tried_again(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened == []

    def fail(entry: catalogue.Entry) -> Fake:
        raise ModelFilesDamaged(entry.name)

    with monkeypatch.context() as patch:
        patch.setattr(loading, "_open", fail)
        with pytest.raises(ModelFilesDamaged):
            loading.load("a")
    assert not loading.ready("a")
    loading.load("a")
    assert opened == ["a"]


def test_tokens_come_without_the_model() -> None:
    assert [token.text for token in loading.tokens("minilm", "a dog")] == ["[CLS]", "a", "dog", "[SEP]"]
    assert loading.tokens("minilm", "a dog") == loading.load("minilm").tokens("a dog")
    with pytest.raises(EmptyText):
        loading.tokens("minilm", " ")


THREADS_THAT_ALL_COME_FIRST = """
import sys, threading
from attnviz.capture import loading
loading.tokens("minilm", "a dog")
assert not {"torch", "transformers"} & set(sys.modules), "tokens need no model"
start, found, names = threading.Barrier(6), [], ("minilm", "minilm-scratch")
def first(name):
    start.wait()
    found.append((name, loading.load(name)))
threads = [threading.Thread(target=first, args=(names[i % 2],)) for i in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 6, "a thread has died"
assert len({id(model) for _, model in found}) == 2, "each model once"
"""


def test_threads_may_ask_for_the_first_model_at_once() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", THREADS_THAT_ALL_COME_FIRST],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
