"""The index of a text: what a trace of each line has, on a disk as in memory, broken off and gone on with."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.analysis.entropy import entropy
from attnviz.analysis.words import classes
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.experiments import on_ray, text_index
from attnviz.experiments.corpus import Corpus, bundled
from attnviz.experiments.neighbours import Search
from attnviz.experiments.text_index import TextIndex, index, opened
from attnviz.models import resolve

LINES = ("The dog slept.", "A cat, as it seems, sat on the unbelievably old mat.", "It rained.")
TEXT = "\n".join([LINES[0], *[""] * 6, "word " * 300, LINES[1], "\udcff", LINES[2]])
ARRAYS = text_index._ARRAYS


def last(text: str = TEXT, folder: Path | None = None, layers: list[int] | None = None) -> TextIndex:
    *_, step = index(Corpus.from_text(text), "minilm", folder, layers)
    assert step.finished
    return step.found


@pytest.fixture(autouse=True)
def _two_lines_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "_AT_ONCE", 2)
    monkeypatch.setattr(text_index, "_PART", 2)
    monkeypatch.setattr(text_index, "_KEEP_LINES", 1)


def test_it_has_what_the_trace_of_each_line_has() -> None:
    found = last(layers=[3, 1])
    network = loading.load("minilm").network  # type: ignore[attr-defined]
    assert (found.lines, found.done, found.key.layers) == (LINES, 3, (1, 3))
    assert [skipped.why.partition(";")[0] for skipped in found.skipped] == [
        "This line has 302 tokens",
        "This line holds bytes that are not UTF-8.",
    ]
    for line, text in enumerate(LINES):
        trace = attnviz.trace(text)
        here = slice(int(found.starts[line]), int(found.starts[line + 1]))
        assert found.ids[here].tolist() == [token.id for token in trace.tokens]
        assert found.classes[here].tolist() == classes(trace.tokens, [text]).tolist()
        assert found.line_of(here.stop - 1) == (line, len(trace.tokens) - 1)
        ids = torch.tensor([[token.id for token in trace.tokens]])
        with torch.inference_mode():
            states = network(input_ids=ids, output_hidden_states=True).hidden_states
        for place, layer in enumerate((1, 3)):
            np.testing.assert_allclose(found.states[place, 0, here], states[layer][0], rtol=2e-3, atol=2e-3)
            block = trace.block("encoder", layer)
            for name, vectors in (("output", block.output), ("query", block.query), ("key", block.key)):
                np.testing.assert_allclose(found.vectors(name)[place, :, here], vectors, rtol=2e-3, atol=2e-3)
            words = block.weights[..., 1:-1]
            assert np.array_equal(found.reads[place, :, here], words.argmax(axis=-1) + 1)
            np.testing.assert_allclose(found.weight[place, :, here], words.max(axis=-1), atol=1e-3)
            rest = 1 - words.sum(axis=-1)
            np.testing.assert_allclose(found.to_special[place, :, here], rest, atol=1e-3)
            np.testing.assert_allclose(
                found.entropy[place, :, here], entropy(block.weights), rtol=2e-3, atol=2e-3
            )


def test_broken_off_it_goes_on_and_ends_with_the_same(tmp_path: Path) -> None:
    folder, corpus = tmp_path / "index", Corpus.from_text(TEXT)
    steps = index(corpus, "minilm", folder)
    partly = list(islice(steps, 2))[-1]
    steps.close()  # type: ignore[attr-defined]  # as after Ctrl-C
    assert (partly.done, partly.total) == (2, 3)
    assert (opened(folder).done, opened(folder).tokens) == (2, partly.found.starts[2])
    with pytest.raises(AttnvizError, match="the index of another text"):
        next(index(Corpus.from_text("Another."), "minilm", folder))
    first, *_ = gone_on = list(index(corpus, "minilm", folder))
    assert (first.done, gone_on[-1].done) == (2, 3)
    ours, theirs = opened(folder), last()
    assert (ours.key, ours.lines, ours.skipped) == (theirs.key, theirs.lines, theirs.skipped)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        assert isinstance(getattr(ours, name), np.memmap)


def test_parts_that_are_read_in_any_order_end_with_the_same() -> None:
    """As on Ray: what is read stands in its place, and the index has the lines up to the first gap."""

    def backwards(work: Callable[[Any], Any], parts: Iterator[Any]) -> Iterator[Any]:
        return map(work, reversed(list(parts)))

    corpus = Corpus.from_text("\n".join(LINES * 2))
    steps = list(index(corpus, "minilm", layers=[0], share=backwards))
    assert [step.done for step in steps] == [0, 0, 0, 6]
    theirs = last(corpus.source, layers=[0])  # type: ignore[arg-type]
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(steps[-1].found, name), getattr(theirs, name))


@pytest.mark.everything
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_of_ray_find_the_same_neighbours(workers: int) -> None:
    """With a model that needs no transformers; eight parts."""
    corpus = Corpus.from_text("\n".join(bundled().splitlines()[:16]))
    asked = corpus, "minilm-scratch", None, [3]
    block = text_index.block_of("minilm-scratch", LINES[1], 3)
    *_, alone = index(*asked)
    *_, shared = index(*asked, share=on_ray.share(workers))
    for name in ARRAYS:
        np.testing.assert_allclose(
            getattr(shared.found, name), getattr(alone.found, name), rtol=2e-3, atol=2e-3
        )
    ours, theirs = (
        {(near.line, near.place) for near in Search.of(step.found, block, [1], 3, "query", "").neighbours()}
        for step in (shared, alone)
    )
    assert ours == theirs


def _header(**changed: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        file = folder / "header.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))

    return change


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda folder: (folder / "query.npy").write_bytes(b"\x93NUMPY"), "is damaged"),
        (lambda folder: os.truncate(folder / "query.npy", 1000), "is damaged"),
        (lambda folder: (folder / "header.json").write_text("["), "is damaged"),
        (lambda folder: (folder / "header.json").unlink(), "holds no index"),
        (lambda folder: (folder / "classes.npy").unlink(), "or not all of one"),
        (lambda folder: np.save(folder / "ids.npy", np.zeros(3, np.int32)), "is damaged"),
        (lambda folder: np.save(folder / "special.npy", np.zeros(21, np.int8)), "is damaged"),
        (_header(done=9), "is damaged"),
        (_header(version=0), "another version"),
        (_header(format="attnviz heads"), "is damaged"),
    ],
)
def test_what_is_no_index_is_refused(damage: Callable[[Path], object], told: str, tmp_path: Path) -> None:
    last(LINES[0], tmp_path / "index", [0])
    damage(tmp_path / "index")
    with pytest.raises(AttnvizError, match=told):
        opened(tmp_path / "index")


def test_another_folder_and_another_model_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear all,")
    for folder in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(AttnvizError, match="holds no index"):
            next(index(Corpus.from_text(TEXT), "minilm", folder))
    found = last(layers=[0])
    with pytest.raises(AttnvizError, match="made with “minilm”, and not with the files that “translator”"):
        text_index.check_model(found, resolve.entry("translator"))
    with pytest.raises(AttnvizError, match="This index has no layer 2"):
        found.layer(1)


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("a\n" * 10_001, {}, "has 10,001 lines; an index has at most 10,000"),
        ("word " * 300, {}, "can read none of the lines. This line has 302 tokens"),
        (TEXT, {"layers": [6]}, "“minilm” has 6 layers"),
        (TEXT, {"most_bytes": 100_000}, "Take about 1 of its lines"),
    ],
)
def test_what_is_too_much_is_refused_before_anything_is_read(
    text: str, more: dict[str, object], told: str
) -> None:
    with pytest.raises(AttnvizError, match=told):
        next(index(Corpus.from_text(text), "minilm", **more))  # type: ignore[arg-type]


def test_a_full_disk_is_told_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*reads.npy'"):
        last(folder=tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_an_encoder_decoder_is_read_by_its_encoder() -> None:
    *_, step = index(Corpus.from_text("The dog was tired."), "translator", layers=[0])
    block = attnviz.trace("The dog was tired.", "translator").block("encoder", 0)
    np.testing.assert_allclose(step.found.query[0], block.query, rtol=2e-3, atol=2e-3)
