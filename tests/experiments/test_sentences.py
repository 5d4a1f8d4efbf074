"""Traces of a batch equal the traces of its sentences one at a time; unreadable sentences are skipped."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError, ModelNotSupported
from attnviz.experiments import sentences
from attnviz.experiments.sentences import SkippedSentence, self_attention, traces
from attnviz.models import resolve
from attnviz.models.catalogue import Entry
from attnviz.trace import Trace
from tests.capture.tiny import SENTENCE, FolderOf

LINES = ("The dog was tired .", "she is happy", "we saw Paris", SENTENCE, "he is sad")


def opened(family: str, folder_of: FolderOf) -> Entry:
    return loading.open_model(str(folder_of(family)))


def run(entry: Entry, *examples: tuple[str, ...]) -> dict[int, list[Trace] | SkippedSentence]:
    return dict(traces(entry, loading.load(entry.name), examples))


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian", "lfm2"])
def test_weights_of_batched_sentences_equal_single_traces(
    family: str, folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "_BATCH_CELLS", 3 * 8**2)  # several batches
    entry = opened(family, folder_of)
    kind, model = self_attention(entry), loading.load(entry.name)
    found = run(entry, *((line,) for line in LINES), LINES[:2])
    assert sorted(found) == [*range(6)]
    for number, texts in enumerate([*((line,) for line in LINES), LINES[:2]]):
        example_traces = found[number]
        assert isinstance(example_traces, list)
        for trace, text in zip(example_traces, texts, strict=True):
            single = model.trace(ModelInput(text, target="a" if family == "marian" else None))
            np.testing.assert_allclose(trace.stack(kind), single.stack(kind), atol=2e-6)


def test_unreadable_sentences_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence with “cat” passes all checks before the model runs, and is refused when it runs."""
    minilm = loading.load("minilm")
    original = minilm.traces

    def refuse_cats(texts: Sequence[ModelInput]) -> Iterator[Trace]:
        if any("cat" in model_input.text for model_input in texts):
            raise AttnvizError("This model cannot read this.")
        return original(texts)

    monkeypatch.setattr(minilm, "traces", refuse_cats)
    lines = ("A dog.", "A cat.", "word " * 600, "caf\udce9", "A cow.")
    found = dict(traces(resolve.entry("minilm"), minilm, [(line,) for line in lines]))
    reasons = {number: each.reason for number, each in found.items() if isinstance(each, SkippedSentence)}
    assert sorted(reasons) == [1, 2, 3]
    assert "cannot read this" in reasons[1]
    assert "602 tokens" in reasons[2]
    assert "not UTF-8" in reasons[3]


def test_vision_model_is_refused(folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match="does not read text"):
        self_attention(opened("vit", folder_of))
