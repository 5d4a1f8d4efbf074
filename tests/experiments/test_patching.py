"""Patching, compared with plain hooks in transformers, and with the clean run if all heads are patched."""

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
MODELS = ("minilm", "minilm-scratch", "translator", "translator-unguided", *TINY)


def last(model: str, clean: ModelInput, corrupted: str, place: int, rows_of: Edit | None = None) -> Patching:
    steps = list(patch(model, clean, corrupted, place, rows_of))
    assert [step.finished for step in steps] == [False] * (len(steps) - 1) + [True]
    for step in steps:
        assert step.done == len(step.found.patched) == len(step.found.shares)
    return steps[-1].found


@pytest.mark.parametrize("name", MODELS)
def test_patching_all_heads_gives_the_clean_run_at_unchanged_tokens(name: str, folder_of: FolderOf) -> None:
    is_tiny = name in TINY
    model = loading.load(str(folder_of(name)) if is_tiny else name)
    text, other = (SENTENCE, CORRUPTED) if is_tiny else (TIRED, NARROW)
    targets = {"t5": TARGET, "translator": FRENCH, "translator-unguided": FRENCH}
    clean, corrupted = (ModelInput(each, target=targets.get(name)) for each in (text, other))
    trace, corrupted_trace = model.trace(clean), model.trace(corrupted)
    place = max(model.prediction_positions(clean), default=None)
    expected, before = (model.outcomes(each, [()], place) for each in (clean, corrupted))
    found = model.outcomes(corrupted, [own_outputs(trace)], place)
    outputs = [("states", -1), *([("source", 0)] if expected.source is not None else [])]
    for field, block in outputs:
        tokens = [
            [token.id for token in each.blocks[block].query_tokens] for each in (trace, corrupted_trace)
        ]
        same = np.array(tokens[0]) == np.array(tokens[1])
        clean_states, patched, corrupt = (getattr(each, field)[0] for each in (expected, found, before))
        np.testing.assert_allclose(patched[same], clean_states[same], atol=1e-5)
        assert np.abs(corrupt[same] - clean_states[same]).max() > 1e-3
        # The changed tokens have different embeddings.
        assert same.all() or np.abs(patched[~same] - clean_states[~same]).max() > 1e-3
    if expected.probabilities is not None and found.probabilities is not None:
        np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)


class Reference:
    """Patching with transformers alone: records and replaces the input of every W_O."""

    def __init__(self, folder: Path, place: int) -> None:
        self.place, self.family = place, folder.name
        self.model: Any = reference_model(folder)
        if folder.name == "gpt2":  # `reference_model` loads it without its head
            auto: Any = AutoModelForCausalLM
            self.model = auto.from_pretrained(folder, attn_implementation="eager").eval()
        self.tokenizer = reference_tokenizer(folder)
        self.mixers = output_projections(self.model, folder.name)

    def run(
        self, text: str, replacements: Mapping[int, tuple[slice, slice, Tensor]] | None = None
    ) -> tuple[Any, list[Tensor]]:
        """Return the output, and the input of each W_O."""
        recorded: list[Tensor] = []

        def hook(number: int) -> Any:
            def change(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
                changed = inputs[0].clone()
                if replacements and number in replacements:
                    rows, columns, vectors = replacements[number]
                    changed[0, rows, columns] = vectors[rows, columns]
                recorded.append(changed[0].clone())
                return (changed,)

            return change

        hooks = [
            output_layer.register_forward_pre_hook(hook(number))
            for number, output_layer in enumerate(self.mixers)
        ]
        inputs = {"input_ids": self.tokenizer(text, return_tensors="pt")["input_ids"]}
        if self.family in ENCODER_DECODERS:
            labels = self.tokenizer(text_target=TARGET, return_tensors="pt")["input_ids"]
            inputs["decoder_input_ids"] = self.model.prepare_decoder_input_ids_from_labels(labels=labels)
        try:
            with torch.inference_mode():
                return self.model(**inputs), recorded
        finally:
            for each in hooks:
                each.remove()

    def share(self, clean: Any, corrupted: Any, after: Any) -> float:
        if self.family == "bert":
            vectors = [each.last_hidden_state[0, self.place].double() for each in (clean, corrupted, after)]
            total, remaining = (1 - torch.cosine_similarity(vectors[0], each, dim=0) for each in vectors[1:])
            return float(1 - remaining / total)
        logits = [each.logits[0, self.place].double() for each in (clean, corrupted, after)]
        change = logits[0].softmax(-1) - logits[1].softmax(-1)
        up, down = int(change.argmax()), int(change.argmin())
        clean_gap, corrupted_gap, gap = (float(each[up] - each[down]) for each in logits)
        return (gap - corrupted_gap) / (clean_gap - corrupted_gap)


@pytest.mark.parametrize(("family", "place"), [("bert", 9), ("gpt2", 12), ("t5", 4)])
def test_shares_equal_hooks_in_transformers(family: str, place: int, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    reference = Reference(folder, place)
    (clean, outputs), (corrupted, _) = reference.run(SENTENCE), reference.run(CORRUPTED)
    model_input = ModelInput(SENTENCE, target=TARGET if family in ENCODER_DECODERS else None)
    trace = loading.load(str(folder)).trace(model_input)
    numbers = {(block.kind, block.layer): number for number, block in enumerate(trace.blocks)}
    found = last(str(folder), model_input, CORRUPTED, place)
    assert found.patched == heads_of(str(folder))
    assert (found.expected is None) == (family == "bert")

    def expected_shares(edits: Sequence[Edit]) -> Iterator[float]:
        for edit in edits:
            number = numbers[edit.kind, edit.layer]
            heads = len(trace.blocks[number].output)
            width = outputs[number].shape[1] // heads
            columns = slice(edit.head * width, (edit.head + 1) * width)
            rows = slice(None) if edit.query is None else slice(edit.query, edit.query + 1)
            after, _ = reference.run(CORRUPTED, {number: (rows, columns, outputs[number])})
            yield reference.share(clean, corrupted, after)

    np.testing.assert_allclose(found.shares, list(expected_shares(found.patched)), atol=2e-3)
    assert np.abs(found.shares).max() > 0.02
    head = found.patched[int(np.abs(found.shares).argmax())]
    rows = last(str(folder), model_input, CORRUPTED, place, head)
    queries = len(trace.block(head.kind, head.layer).query_tokens)
    assert rows.patched == tuple(Edit(head.kind, head.layer, head.head, row) for row in range(queries))
    np.testing.assert_allclose(rows.shares, list(expected_shares(rows.patched)), atol=2e-3)


def test_guided_head_determines_the_pronoun_only_at_it() -> None:
    # The default target is the translation of the clean sentence.
    default_target = last("translator", ModelInput(TIRED), NARROW, 9)
    for text, other, expected in ((NARROW, TIRED, ("elle", "il")), (TIRED, NARROW, ("il", "elle"))):
        found = last("translator", ModelInput(text, target=FRENCH), other, 9)
        assert found.expected is not None
        assert tuple(token.text for token in found.expected) == expected
        assert found.patched[int(found.shares.argmax())] == Edit("encoder", 1, 0)
        assert found.shares.max() > 0.9
        rows = last("translator", ModelInput(text, target=FRENCH), other, 9, Edit("encoder", 1, 0))
        assert rows.shares.argmax() == 8  # “it”
        assert np.abs(np.delete(rows.shares, 8)).max() < 0.01
    np.testing.assert_array_equal(default_target.shares, found.shares)


@pytest.mark.parametrize(
    ("other", "place", "message"),
    [
        ("The dog slept.", 9, "15 tokens, the second 6"),
        (TIRED, 9, "have the same tokens"),
        ("He saw his cat and went home from that place again today.", 9, "1 of 13"),
        (NARROW, 12, "Token 13 is “tired”"),
        (NARROW, 99, "no token 99"),
    ],
)
def test_unsuitable_texts_are_refused(other: str, place: int, message: str) -> None:
    with pytest.raises(AttnvizError, match=message):
        next(patch("minilm", ModelInput(TIRED), other, place))


def test_missing_target_or_earlier_token_is_refused(folder_of: FolderOf) -> None:
    with pytest.raises(AttnvizError, match="Specify a target"):
        next(patch(str(folder_of("t5")), ModelInput(SENTENCE), CORRUPTED, 0))
    with pytest.raises(AttnvizError, match="after the changed word"):
        next(patch(str(folder_of("gpt2")), ModelInput(SENTENCE), SENTENCE.replace("tired", "narrow"), 5))


def test_public_patching_function(folder_of: FolderOf) -> None:
    folder = folder_of("gpt2")
    found = attnviz.patching(SENTENCE, CORRUPTED, folder, place=12)
    expected = last(str(folder), ModelInput(SENTENCE), CORRUPTED, 12)
    np.testing.assert_array_equal(found.shares, expected.shares)
    rows = attnviz.patching(SENTENCE, CORRUPTED, folder, place=12, rows_of="decoder 2-1")
    assert [str(edit) for edit in rows.patched[:2]] == ["decoder 2-1 1", "decoder 2-1 2"]
    short = attnviz.patching(SENTENCE, CORRUPTED, folder, place=12, rows_of="2-1")
    assert short.patched == rows.patched
    with pytest.raises(attnviz.InvalidEdit, match="“2-1” is not a valid change"):  # the kind is ambiguous
        attnviz.patching(TIRED, NARROW, "translator", place=9, rows_of="2-1")
    for wrong in ("decoder 2-1 3", "decoder 2-9", "encoder 1-1"):
        with pytest.raises(attnviz.InvalidEdit, match=f"“{wrong}” is not a head of this model"):
            attnviz.patching(SENTENCE, CORRUPTED, folder, place=12, rows_of=wrong)
