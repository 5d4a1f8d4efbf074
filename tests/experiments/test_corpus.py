"""A text of many sentences: read line by line, what is wrong with it is said, and the figures are right."""

import io
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import attnviz
from attnviz import readable
from attnviz.analysis.tally import NAMES, Tally, tally
from attnviz.capture.batches import Batch
from attnviz.errors import AttnvizError, EmptyText, ModelNotSupported, UnreadableText
from attnviz.experiments import corpus as corpora
from attnviz.experiments.corpus import Corpus, Found, Skipped, over
from attnviz.experiments.progress import Progress
from attnviz.models import resolve

LINES = (
    "The dog did not cross the road as it was too tired.",
    "",
    "Hello!",
    "“Come in,” said the man, “and shut the door.”",
    "word " * 600,
    "   ",
    "Embeddings of embeddings, and so on.",
    "Hello.",
    "A cat sat.",
    "\u200b",
    "The cat did not cross the road as it was too tired.",
)
TEXT = "\n".join(LINES)


@dataclass(frozen=True)
class Lines:
    """The numbers of the lines that were read: a measure of the simplest kind."""

    numbers: frozenset[int]

    def __add__(self, other: "Lines") -> "Lines":
        return Lines(self.numbers | other.numbers)


def lines_of(batch: Batch) -> Lines:
    return Lines(frozenset(batch.lines))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "PART", 3)


def last(steps: Sequence[Progress[Found]]) -> Found:
    assert steps[-1].finished
    return steps[-1].found


def one_by_one(texts: Sequence[str]) -> Tally:
    """The same sums from a trace of each sentence."""
    found = Tally.nothing(6, 12)
    for text in texts:
        blocks = attnviz.trace(text, model="minilm").of_kind("encoder")
        weights = [block.weights[None] for block in blocks]
        found += tally([text], [blocks[0].query_tokens], weights, [block.mask for block in blocks])
    return found


def assert_same_figures(one: Tally, other: Tally) -> None:
    assert (int(one.sentences), int(one.tokens)) == (int(other.sentences), int(other.tokens))
    assert np.array_equal(one.count, other.count)
    for name in NAMES:
        ours, theirs = one.of(name), other.of(name)
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(ours.baseline, theirs.baseline, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(ours.distribution, theirs.distribution, atol=2e-5, err_msg=name)


def test_the_figures_are_those_of_every_sentence_alone() -> None:
    steps = list(over(Corpus.from_text(TEXT), "minilm", {"lines": lines_of}))
    found = last(steps)
    read = [0, 2, 3, 6, 7, 8, 10]
    assert_same_figures(found.tally, one_by_one([LINES[line] for line in read]))
    assert found.sums == {"lines": Lines(frozenset(read))}
    assert (found.empty, found.skipped, found.lines) == (2, 2, len(LINES))
    assert [skipped.line for skipped in found.named] == [5, 10]  # as an editor counts
    assert "602 tokens; the model reads at most 512" in found.named[0].why
    assert found.parts == {0, 1, 2, 3}
    assert not found.single
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert (done[0], done[-1], steps[0].total) == (0, len(LINES), len(LINES))
    assert all(step.found.lines == step.done for step in steps)


def test_whoever_stops_goes_on_where_it_stopped() -> None:
    expected = last(list(over(Corpus.from_text(TEXT), "minilm")))
    steps = over(Corpus.from_text(TEXT), "minilm")
    stopped = [next(steps) for _ in range(4)][-1]
    assert 0 < stopped.done < len(LINES)
    resumed = list(steps)
    assert resumed[0].done == stopped.done  # its part is finished; nothing is counted twice
    assert_same_figures(last(resumed).tally, expected.tally)


def test_a_new_process_begins_at_any_step() -> None:
    corpus = Corpus.from_text(TEXT)
    measures = {"lines": lines_of}
    steps = list(over(corpus, "minilm", measures))
    assert any(step.found.single for step in steps)
    for step in steps:
        assert_it_goes_on_from(step, list(over(corpus, "minilm", measures, begun=step.found)), last(steps))


def assert_it_goes_on_from(step: Progress[Found], again: Sequence[Progress[Found]], expected: Found) -> None:
    """No line is counted twice, and none is left out."""
    assert again[0].done == step.done
    found = last(again)
    assert (found.sums, found.single) == (expected.sums, frozenset())
    assert (found.parts, found.empty, found.skipped, found.named) == (
        expected.parts,
        expected.empty,
        expected.skipped,
        expected.named,
    )
    assert_same_figures(found.tally, expected.tally)


def test_of_many_bad_lines_the_first_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "MOST_NAMED", 3)
    monkeypatch.setattr(readable, "MOST_CHARACTERS", 9)
    found = last(list(over(Corpus.from_text("A dog.\n" + "0123456789\n" * 5), "minilm")))
    assert (found.skipped, [skipped.line for skipped in found.named]) == (5, [2, 3, 4])
    assert found.named[0].why.startswith("This text has 10 characters; attnviz reads at most 9.")
    later = Found(Tally.nothing(6, 12), skipped=1, named=(Skipped(1, "no"),))
    assert [skipped.line for skipped in (found + later).named] == [1, 2, 3]
    assert (later + found).named == (found + later).named


ENDS = "one\n\r\n\ntwo\rthree\r\n  \nfour\u2028still four\x0c"


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_lines_are_the_same_pasted_uploaded_and_in_a_file(end: str, tmp_path: Path) -> None:
    text = ENDS + end
    file = tmp_path / "text.txt"
    file.write_bytes(text.encode())
    with io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8") as opened:
        expected = [line.rstrip("\n") for line in opened]
    made = [Corpus.from_text(text), Corpus.from_bytes(text.encode(), "x"), Corpus.from_file(file)]
    for corpus in made:
        assert list(corpus) == list(corpus) == expected
        assert corpus.lines == len(expected)
    assert len({corpus.key for corpus in made}) == 1
    assert Corpus.from_text(f"{text}x").key != made[0].key


def test_a_sign_of_the_byte_order_is_no_letter() -> None:
    assert list(Corpus.from_bytes("one\ntwo".encode("utf-8-sig"), "x")) == ["one", "two"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Hé.\nHo.".encode("utf-16"), "in UTF-16, which some editors call “Unicode”. Save it as UTF-8"),
        ("Hé.\nHo.".encode("utf-16-be"), "it holds zeros"),
        ("Où est-il ?\nIl est là.\nÇa va.".encode("latin-1"), "3 of its 3 lines hold other bytes"),
        (b"%PDF-1.7\n%\xe2\xe3", "is a PDF. Copy its text"),
        (b"PK\x03\x04\x14\x00", "packed, as .docx"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "it holds zeros"),
    ],
)
def test_what_is_no_text_in_utf_8_is_refused_with_a_remedy(content: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableText, match=r"“<b>\.txt”") as refused:
        Corpus.from_bytes(content, "<b>.txt")
    assert why in str(refused.value)
    assert str(refused.value).endswith("try again.")
    file = tmp_path / "other.txt"
    file.write_bytes(content)
    with pytest.raises(UnreadableText, match=r"“other\.txt”"):
        Corpus.from_file(file)


def test_a_few_broken_lines_are_skipped_and_named() -> None:
    content = b"A dog.\n" * 10 + b"caf\xe9\n"
    found = last(list(over(Corpus.from_bytes(content, "x"), "minilm")))
    assert (int(found.tally.sentences), found.skipped) == (10, 1)
    assert found.named[0].line == 11
    assert "not UTF-8" in found.named[0].why


def test_texts_without_a_sentence_or_with_too_many_are_refused() -> None:
    for empty in ("", " \n\t\n"):
        with pytest.raises(EmptyText, match="no sentence in “the text”"):
            Corpus.from_text(empty)
    assert Corpus.from_text("a\n" * 5, most=5).lines == 5
    with pytest.raises(AttnvizError, match="“mine” has 6 lines; this page reads at most 5"):
        Corpus.from_text("a\n" * 6, "mine", 5)


def test_a_model_that_sees_pictures_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seeing = replace(resolve.entry("minilm"), grid=(3, 5))
    monkeypatch.setattr(resolve, "entry", lambda _name: seeing)
    with pytest.raises(ModelNotSupported, match="looks at pictures"):
        next(over(Corpus.from_text("A dog."), "vit"))


def test_a_text_is_never_held_twice(tmp_path: Path) -> None:
    """Looking at two MB, and walking through their lines, takes some kilobytes."""
    text = "A line of a text that is long enough to be noticed.\n" * 40_000
    file = tmp_path / "long.txt"
    file.write_text(text, "utf-8")
    content = text.encode()
    tracemalloc.start()
    for corpus in (Corpus.from_text(text), Corpus.from_bytes(content, "x"), Corpus.from_file(file)):
        assert sum(1 for _ in corpus) == 40_000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < len(content) / 4
