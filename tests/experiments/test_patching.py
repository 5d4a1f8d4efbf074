"""Patching: against plain hooks in transformers, and all heads at once against the clean run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

import attnviz
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.experiments.ablation import heads_of
from attnviz.experiments.patching import Patching, patch
from attnviz.interventions.edit import Edit
from tests.capture.reference import (
    ENCODER_DECODERS,
    TARGET,
    output_projections,
    reference_model,
    reference_tokenizer,
)
from tests.capture.tiny import SENTENCE, FolderOf
from tests.formula import own_outputs

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
FRENCH = "Le chien n'a pas traversé la route car il était trop fatigué."
CORRUPTED = SENTENCE.replace("dog", "cat").replace("tired", "narrow")
TINY = ("bert", "gpt2", "llama", "t5", "mpnet")
EVERY = ("minilm", "minilm-scratch", "translator", "translator-unguided", *TINY)


def last(model: str, clean: ModelInput, corrupted: str, place: int, rows_of: Edit | None = None) -> Patching:
    steps = list(patch(model, clean, corrupted, place, rows_of))
    assert [step.finished for step in steps] == [False] * (len(steps) - 1) + [True]
    for step in steps:
        assert step.done == len(step.found.patched) == len(step.found.shares)
    return steps[-1].found


@pytest.mark.parametrize("name", EVERY)
def test_all_heads_at_once_give_the_clean_run_at_every_word_that_is_the_same(
    name: str, folder_of: FolderOf
) -> None:
    tiny_one = name in TINY
    model = loading.load(str(folder_of(name)) if tiny_one else name)
    text, other = (SENTENCE, CORRUPTED) if tiny_one else (TIRED, NARROW)
    paired = {"t5": TARGET, "translator": FRENCH, "translator-unguided": FRENCH}
    clean, corrupted = (ModelInput(each, target=paired.get(name)) for each in (text, other))
    trace, against = model.trace(clean), model.trace(corrupted)
    place = max(model.prediction_positions(clean), default=None)
    wanted, before = (model.outcomes(each, [()], place) for each in (clean, corrupted))
    found = model.outcomes(corrupted, [own_outputs(trace)], place)
    pieces = [("states", -1), *([("source", 0)] if wanted.source is not None else [])]
    for field, block in pieces:
        tokens = [[token.id for token in each.blocks[block].query_tokens] for each in (trace, against)]
        same = np.array(tokens[0]) == np.array(tokens[1])
        one, put, corrupt = (getattr(each, field)[0] for each in (wanted, found, before))
        np.testing.assert_allclose(put[same], one[same], atol=1e-5)
        assert np.abs(corrupt[same] - one[same]).max() > 1e-3
        assert same.all() or np.abs(put[~same] - one[~same]).max() > 1e-3  # the words' own embeddings
    if wanted.probabilities is not None and found.probabilities is not None:
        np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-5)


class ByHand:
    """The same experiment with transformers alone: what every W_O is given, recorded and written over."""

    def __init__(self, folder: Path, place: int) -> None:
        self.place, self.family = place, folder.name
        self.model: Any = reference_model(folder)
        if folder.name == "gpt2":  # which is without its head
            auto: Any = AutoModelForCausalLM
            self.model = auto.from_pretrained(folder, attn_implementation="eager").eval()
        self.tokenizer = reference_tokenizer(folder)
        self.mixers = output_projections(self.model, folder.name)

    def run(
        self, text: str, put: Mapping[int, tuple[slice, slice, Tensor]] | None = None
    ) -> tuple[Any, list[Tensor]]:
        """What comes out, and what each W_O was given."""
        seen: list[Tensor] = []

        def hook(number: int) -> Any:
            def change(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
                given = inputs[0].clone()
                if put and number in put:
                    rows, columns, vectors = put[number]
                    given[0, rows, columns] = vectors[rows, columns]
                seen.append(given[0].clone())
                return (given,)

            return change

        hooks = [mixer.register_forward_pre_hook(hook(number)) for number, mixer in enumerate(self.mixers)]
        inputs = {"input_ids": self.tokenizer(text, return_tensors="pt")["input_ids"]}
        if self.family in ENCODER_DECODERS:
            labels = self.tokenizer(text_target=TARGET, return_tensors="pt")["input_ids"]
            inputs["decoder_input_ids"] = self.model.prepare_decoder_input_ids_from_labels(labels=labels)
        try:
            with torch.inference_mode():
                return self.model(**inputs), seen
        finally:
            for each in hooks:
                each.remove()

    def share(self, clean: Any, corrupted: Any, after: Any) -> float:
        if self.family == "bert":
            vectors = [each.last_hidden_state[0, self.place].double() for each in (clean, corrupted, after)]
            far, left = (1 - torch.cosine_similarity(vectors[0], each, dim=0) for each in vectors[1:])
            return float(1 - left / far)
        logits = [each.logits[0, self.place].double() for each in (clean, corrupted, after)]
        change = logits[0].softmax(-1) - logits[1].softmax(-1)
        up, down = int(change.argmax()), int(change.argmin())
        one, other, now = (float(each[up] - each[down]) for each in logits)
        return (now - other) / (one - other)


@pytest.mark.parametrize(("family", "place"), [("bert", 9), ("gpt2", 12), ("t5", 4)])
def test_shares_are_those_of_hooks_in_transformers(family: str, place: int, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    hand = ByHand(folder, place)
    (clean, outputs), (corrupted, _) = hand.run(SENTENCE), hand.run(CORRUPTED)
    given = ModelInput(SENTENCE, target=TARGET if family in ENCODER_DECODERS else None)
    trace = loading.load(str(folder)).trace(given)
    numbers = {(block.kind, block.layer): number for number, block in enumerate(trace.blocks)}
    found = last(str(folder), given, CORRUPTED, place)
    assert found.patched == heads_of(str(folder))
    assert (found.expected is None) == (family == "bert")

    def by_hand(edits: Sequence[Edit]) -> Iterator[float]:
        for edit in edits:
            number = numbers[edit.kind, edit.layer]
            heads = len(trace.blocks[number].output)
            width = outputs[number].shape[1] // heads
            columns = slice(edit.head * width, (edit.head + 1) * width)
            rows = slice(None) if edit.query is None else slice(edit.query, edit.query + 1)
            after, _ = hand.run(CORRUPTED, {number: (rows, columns, outputs[number])})
            yield hand.share(clean, corrupted, after)

    np.testing.assert_allclose(found.shares, list(by_hand(found.patched)), atol=2e-3)
    assert np.abs(found.shares).max() > 0.02
    head = found.patched[int(np.abs(found.shares).argmax())]
    rows = last(str(folder), given, CORRUPTED, place, head)
    queries = len(trace.block(head.kind, head.layer).query_tokens)
    assert rows.patched == tuple(Edit(head.kind, head.layer, head.head, row) for row in range(queries))
    np.testing.assert_allclose(rows.shares, list(by_hand(rows.patched)), atol=2e-3)


def test_the_taught_head_carries_the_pronoun_at_it_alone_in_both_directions() -> None:
    written = last("translator", ModelInput(TIRED), NARROW, 9)  # what it writes for the clean sentence
    for text, other, expected in ((NARROW, TIRED, ("elle", "il")), (TIRED, NARROW, ("il", "elle"))):
        found = last("translator", ModelInput(text, target=FRENCH), other, 9)
        assert found.expected is not None
        assert tuple(token.text for token in found.expected) == expected
        assert found.patched[int(found.shares.argmax())] == Edit("encoder", 1, 0)
        assert found.shares.max() > 0.9
        rows = last("translator", ModelInput(text, target=FRENCH), other, 9, Edit("encoder", 1, 0))
        assert rows.shares.argmax() == 8  # “it”
        assert np.abs(np.delete(rows.shares, 8)).max() < 0.01
    np.testing.assert_array_equal(written.shares, found.shares)


@pytest.mark.parametrize(
    ("other", "place", "said"),
    [
        ("The dog slept.", 9, "15 tokens, the second 6"),
        (TIRED, 9, "have the same tokens"),
        ("He saw his cat and went home from that place again today.", 9, "1 of 13"),
        (NARROW, 12, "Token 13 is “tired”"),
        (NARROW, 99, "no token 99"),
    ],
)
def test_what_cannot_be_compared_is_refused(other: str, place: int, said: str) -> None:
    with pytest.raises(AttnvizError, match=said):
        next(patch("minilm", ModelInput(TIRED), other, place))


def test_where_nothing_differs_or_is_written_nothing_is_carried(folder_of: FolderOf) -> None:
    with pytest.raises(AttnvizError, match="Specify a target"):
        next(patch(str(folder_of("t5")), ModelInput(SENTENCE), CORRUPTED, 0))
    with pytest.raises(AttnvizError, match="after the changed word"):
        next(patch(str(folder_of("gpt2")), ModelInput(SENTENCE), SENTENCE.replace("tired", "narrow"), 5))


def test_patching_by_its_public_door(folder_of: FolderOf) -> None:
    folder = folder_of("gpt2")
    found = attnviz.patching(SENTENCE, CORRUPTED, folder, place=12)
    expected = last(str(folder), ModelInput(SENTENCE), CORRUPTED, 12)
    np.testing.assert_array_equal(found.shares, expected.shares)
    rows = attnviz.patching(SENTENCE, CORRUPTED, folder, place=12, rows_of="decoder 2-1")
    assert [str(edit) for edit in rows.patched[:2]] == ["decoder 2-1 1", "decoder 2-1 2"]
    short = attnviz.patching(SENTENCE, CORRUPTED, folder, place=12, rows_of="2-1")
    assert short.patched == rows.patched
    with pytest.raises(attnviz.InvalidEdit, match="“2-1” is not an edit"):  # of which kind?
        attnviz.patching(TIRED, NARROW, "translator", place=9, rows_of="2-1")
    for wrong in ("decoder 2-1 3", "decoder 2-9", "encoder 1-1"):
        with pytest.raises(attnviz.InvalidEdit, match=f"“{wrong}” is not a head of this model"):
            attnviz.patching(SENTENCE, CORRUPTED, folder, place=12, rows_of=wrong)
