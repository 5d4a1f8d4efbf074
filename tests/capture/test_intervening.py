"""Edits in every kind of model, compared with direct changes of the weights or of W_O in transformers."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

import attnviz
from attnviz.capture import forward, loading
from attnviz.capture import model as interface
from attnviz.capture.model import Model, ModelInput, Outcomes, Writing
from attnviz.errors import InvalidEdit, ModelNotSupported
from attnviz.interventions.changes import applying, edits_of
from attnviz.interventions.edit import Edit, HeadOutput
from attnviz.models import resolve
from attnviz.models.families import ABLATION_ONLY
from attnviz.trace import Floats, Kind
from tests.capture.reference import (
    ENCODER_DECODERS,
    TARGET,
    output_projections,
    reference_inputs,
    reference_model,
)
from tests.capture.tiny import SENTENCE, TEXTS, FolderOf, families

TIRED = "The dog did not cross the road as it was too tired."
SHORT = "The dog slept."


def input_for(folder: Path) -> ModelInput:
    return ModelInput(SENTENCE, target=TARGET if folder.name in ENCODER_DECODERS else None)


@contextmanager
def without_slice(mixer: nn.Module, head: int, heads: int) -> Iterator[None]:
    """Set one head's slice of W_O to zero inside the `with` block; the bias is unchanged."""
    weight = mixer.get_parameter("weight")
    before = weight.detach().clone()
    inputs = weight.shape[0] if isinstance(mixer, Conv1D) else weight.shape[1]
    part = slice(head * inputs // heads, (head + 1) * inputs // heads)
    with torch.no_grad():
        weight[(part, slice(None)) if isinstance(mixer, Conv1D) else (slice(None), part)] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)


@contextmanager
def changed_weights(changes: Mapping[int, Callable[[Tensor], object]]) -> Iterator[None]:
    """Apply each change to the weights of the attention layer with that number, in execution order from 0."""
    original: Any = nn.functional.softmax
    count = 0

    def softmax(scores: Tensor, *args: Any, **more: Any) -> Tensor:
        nonlocal count
        weights: Tensor = original(scores, *args, **more)
        if scores.dim() == 4:
            if count in changes:
                changes[count](weights)
            count += 1
        return weights

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.functional, "softmax", softmax)
        yield
    assert count > max(changes)


def run_reference(model: Any, folder: Path) -> Any:
    options = {"output_hidden_states": True} if folder.name in ENCODER_DECODERS else {}
    with torch.inference_mode():
        return model(**reference_inputs(folder, model), **options)


def assert_close(found: Floats, expected: Tensor) -> None:
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6, rtol=1e-6)


def states_of(output: Any) -> Tensor:
    """Return the last hidden states of the encoder, or of the decoder if there is one, [token, d_model]."""
    hidden = getattr(output, "last_hidden_state", None)
    batch: Tensor = output.decoder_hidden_states[-1] if hidden is None else hidden
    return batch[0]


# ALBERT's layers share one W_O; the next test covers ALBERT.
@pytest.mark.parametrize("family", families("ablate", sorted({*TEXTS} - {"albert"})))
def test_ablated_head_equals_a_zero_slice_of_w_o(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    model, second = loading.load(str(folder)), reference_model(folder)
    unchanged = model.outcomes(input_for(folder), [()]).states
    for block, mixer in zip(
        model.trace(input_for(folder)).blocks, output_projections(second, family), strict=True
    ):
        heads = len(block.query)
        for head in (0, heads - 1):
            found = model.outcomes(input_for(folder), [[Edit(block.kind, block.layer, head)]])
            with without_slice(mixer, head, heads):
                output = run_reference(second, folder)
            assert_close(found.states[0], states_of(output))
            if found.source is not None:
                assert_close(found.source[0], output.encoder_last_hidden_state[0])
            assert np.abs(found.states - unchanged).max() > 1e-4


def test_head_of_albert_is_ablated_in_one_layer_only(folder_of: FolderOf) -> None:
    folder = folder_of("albert")  # ALBERT's three layers share one W_O
    model, second = loading.load(str(folder)), reference_model(folder)
    [mixer] = output_projections(second, "albert")
    everywhere = [Edit("encoder", layer, 1) for layer in range(3)]
    found = model.outcomes(SENTENCE, [everywhere, everywhere[1:2]]).states
    with without_slice(mixer, 1, 3):
        assert_close(found[0], run_reference(second, folder).last_hidden_state[0])
    with changed_weights({1: lambda weights: weights[:, 1].zero_()}):
        assert_close(found[1], run_reference(second, folder).last_hidden_state[0])


@contextmanager
def replaced_outputs(mixer: nn.Module, head: int, heads: int, rows: slice, vectors: Floats) -> Iterator[None]:
    """Replace these rows of one head's output, in the input of W_O, inside the `with` block."""

    def change(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        changed = inputs[0].clone()
        part = slice(head * changed.shape[-1] // heads, (head + 1) * changed.shape[-1] // heads)
        changed[0, rows, part] = torch.tensor(vectors)
        return (changed,)

    hook = mixer.register_forward_pre_hook(change)
    try:
        yield
    finally:
        hook.remove()


@pytest.mark.parametrize("family", families("other outputs", sorted({*TEXTS} - {"albert"})))
def test_replaced_head_output_equals_a_replaced_input_of_w_o(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    model, second = loading.load(str(folder)), reference_model(folder)
    random = np.random.default_rng(0)
    for block, mixer in zip(
        model.trace(input_for(folder)).blocks, output_projections(second, family), strict=True
    ):
        heads, queries, d_head = block.output.shape
        replacement = random.normal(size=(queries, d_head)).astype(np.float32)
        for query, vectors in ((None, replacement), (None, replacement[:1]), (3, replacement[:1])):
            output = HeadOutput(block.kind, block.layer, heads - 1, vectors, query)
            found = model.outcomes(input_for(folder), [[output]])
            rows = slice(None) if query is None else slice(query, query + 1)
            with replaced_outputs(mixer, heads - 1, heads, rows, vectors):
                expected = run_reference(second, folder)
            assert_close(found.states[0], states_of(expected))
            if found.source is not None:
                assert_close(found.source[0], expected.encoder_last_hidden_state[0])


@pytest.mark.parametrize("name", ["gpt2", "minilm-scratch"])
def test_outputs_of_the_wrong_shape_are_refused(name: str, folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of(name)) if name in TEXTS else name)
    text = SENTENCE if name in TEXTS else TIRED
    block = model.trace(text).blocks[0]
    queries, d_head = block.output.shape[1:]
    for shape, layer, query, message in (
        ((queries, d_head + 1), 0, None, f"has vectors of {d_head + 1} elements; this head needs {d_head}"),
        ((queries - 1, d_head), 0, None, f"{queries - 1} vectors for {queries} tokens"),
        ((queries + 1, d_head), 0, None, f"{queries + 1} vectors for {queries} tokens"),
        ((1, d_head), 0, queries, f"there is no row {queries + 1}; there are {queries} tokens"),
        ((1, d_head), 99, None, "there is no [a-z]+ layer 100"),
    ):
        output = HeadOutput(block.kind, layer, 1, np.zeros(shape, dtype=np.float32), query)
        with pytest.raises(InvalidEdit, match=message) as caught:
            model.outcomes(text, [(), [output]])
        assert str(caught.value).endswith(".")
        with pytest.raises(InvalidEdit, match=message):
            model.trace(text, edits=[output])


REDIRECTED = {
    "bert": ["encoder 2-3 5 >9", "encoder 1-2 4 3>11", "encoder 1-1 >6"],
    "llama": ["decoder 2-5 8 >3", "decoder 1-2 6 2>5", "decoder 2-1 >1"],
    "gpt_oss": ["decoder 2-5 8 >3", "decoder 1-2 6 4>5", "decoder 2-1 >1"],
    "gpt2": ["decoder 1-3 9 >9", "decoder 2-2 7"],
    "t5": ["encoder 3-2 4 >1", "decoder 1-1 5 >2", "cross 2-3 3 >7", "cross 1-2 >4"],
    "bart": ["encoder 1-1 3 2>8", "decoder 2-3 4 >1", "cross 1-2 5 >2"],
}


def apply_edit(weights: Tensor, edit: str) -> None:
    """Apply an edit such as "encoder 2-3 5 >9" to weights in place."""
    _, place, *row = edit.split(" ")
    head = weights[0, int(place.split("-")[1]) - 1]
    rows = [int(row[0]) - 1] if row and ">" not in row[0] else range(len(head))
    ends = row[-1].split(">") if row and ">" in row[-1] else None
    for number in rows:
        if ends and ends[0]:
            source, target = (int(end) - 1 for end in ends)
            head[number, target] += head[number, source]
            head[number, source] = 0
        else:
            head[number] = 0
            if ends:
                head[number, int(ends[1]) - 1] = 1


@pytest.mark.parametrize("family", families("redirecting", tuple(REDIRECTED)))
def test_redirected_row_equals_that_row_in_transformers(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    entry, second = resolve.entry(str(folder)), reference_model(folder)
    order = [("encoder", layer) for layer in range(entry.layers)]
    kinds = ("decoder", "cross") if family in ENCODER_DECODERS else ("decoder",)
    order += [(kind, layer) for layer in range(entry.decoder_layers) for kind in kinds]

    def expected(edits: Sequence[str]) -> tuple[dict[int, Tensor], Tensor]:
        changed: dict[int, Tensor] = {}
        edits_by_block: dict[int, list[str]] = {}
        for edit in edits:
            kind, place, *_ = edit.split(" ")
            edits_by_block.setdefault(order.index((kind, int(place.split("-")[0]) - 1)), []).append(edit)

        def change(number: int, weights: Tensor) -> None:
            for edit in edits_by_block[number]:
                apply_edit(weights, edit)
            changed[number] = weights[0].clone()

        by_number = {number: partial(change, number) for number in edits_by_block}
        with changed_weights(by_number):
            return changed, states_of(run_reference(second, folder))

    for edits in (*([edit] for edit in REDIRECTED[family]), REDIRECTED[family]):
        weights, states = expected(edits)
        changes = [Edit.parse(edit) for edit in edits]
        assert_close(loading.load(str(folder)).outcomes(input_for(folder), [changes]).states[0], states)
        trace = attnviz.trace(SENTENCE, folder, target=input_for(folder).target, edits=edits)
        assert trace.edits == tuple(edits)
        for number, changed in weights.items():
            found = trace.blocks[number].weights
            assert_close(found, changed[..., : found.shape[-1]])  # without an attention sink's column


def test_memory_limit_changes_only_the_batch_size(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    variants = [[Edit("encoder", 2, head)] for head in range(7)]
    at_once = minilm.outcomes(SHORT, variants).states
    monkeypatch.setattr(interface, "MAX_ELEMENTS", 3 * interface.variant_elements(6, 12, 384))
    sizes = []
    run = forward.outcomes

    def counted(*arguments: Any) -> Outcomes:
        sizes.append(len(arguments[3]))
        return run(*arguments)

    monkeypatch.setattr(forward, "outcomes", counted)
    np.testing.assert_allclose(minilm.outcomes(SHORT, variants).states, at_once, atol=5e-6)
    assert sizes == [3, 3, 1]


@pytest.mark.parametrize("family", families("predicting", ("gpt2", "bart", "bloom")))
def test_probabilities_of_an_edited_model_equal_its_predictions(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    model, model_input = loading.load(str(folder)), input_for(folder)
    places = model.prediction_positions(model_input)
    kind = resolve.entry(str(folder)).kinds[-1]
    edits = [Edit(kind, 1, 2), Edit(kind, 0, 0, 3)]
    found = model.outcomes(model_input, [(), edits], places[4]).probabilities
    assert found is not None
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    for probabilities, predictions in zip(
        found, (model.predictions(model_input), model.predictions(model_input, edits=edits)), strict=True
    ):
        likeliest = predictions[4].candidates[0]
        assert probabilities.argmax() == likeliest.id
        assert probabilities.max() == pytest.approx(likeliest.probability, abs=1e-5)
        assert model.words([likeliest.id]) == (likeliest.text,)
    assert np.abs(found[0] - found[1]).max() > 1e-3


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_generation_uses_the_edits(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    entry, model = resolve.entry(str(folder)), loading.load(str(folder))
    kind: Kind = "decoder"
    model_input = ModelInput(SENTENCE, writing=Writing(tokens=6))
    edits = [Edit(other, 0, head) for other in entry.kinds for head in range(3)]
    edits.append(Edit(kind, 1, 0, 4, None, 2))
    trace = model.trace(model_input, edits=edits)
    tokens = trace.of_kind(kind)[0].query_tokens
    predictions = model.predictions(model_input, edits=edits)
    for token, prediction in list(zip(tokens[1:], predictions, strict=False))[-trace.written :]:
        assert token.id == prediction.candidates[0].id
    unchanged = model.trace(model_input).of_kind(kind)[0].query_tokens
    assert [token.id for token in tokens] != [token.id for token in unchanged]


@pytest.mark.parametrize("family", families("ablate custom attention", sorted(ABLATION_ONLY)))
def test_custom_attention_can_be_ablated_but_not_redirected(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    kind = resolve.entry(str(folder)).kinds[0]
    with pytest.raises(ModelNotSupported, match="can be ablated, but not redirected"):
        attnviz.trace(SENTENCE, folder, edits=[f"{kind} 1-1 5 >2"])
    row = attnviz.trace(SENTENCE, folder, edits=[f"{kind} 1-2 5"])
    before = attnviz.trace(SENTENCE, folder)
    changed = np.abs(row.blocks[1].query - before.blocks[1].query).max(axis=(0, 2))
    assert changed.argmax() == 4
    assert not np.delete(changed, 4).any()


@pytest.mark.parametrize(
    ("family", "edit", "message"),
    [
        ("bert", "decoder 1-1", "there is no decoder layer 1. Layers: encoder 1 to "),
        ("mistral", "decoder 1-1 12 >2", "this layer masks"),
        ("bart", "cross 1-1 3 >99", "there is no key 99"),
    ],
)
def test_invalid_layer_or_key_is_refused(family: str, edit: str, message: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    for call in (attnviz.trace, attnviz.predictions):
        if call is attnviz.trace or "mask" not in message:
            with pytest.raises(InvalidEdit, match=message) as caught:
                call(SENTENCE, folder, target=input_for(folder).target, edits=[edit])
            assert str(caught.value).endswith(".")


# These models apply edits in the common attention function, in hooks, or in our own Transformer.
@pytest.mark.parametrize("name", families("threads", ("minilm", "translator", "mpnet", "t5", "gpt_neo")))
def test_threads_can_edit_one_model_concurrently(name: str, folder_of: FolderOf) -> None:
    """Each thread repeatedly runs the model on its own text with its own edits."""
    is_tiny = name in TEXTS
    words = (SENTENCE if is_tiny else TIRED.rstrip(".")).split()
    model = loading.load(str(folder_of(name)) if is_tiny else name)
    kind = model.trace(" ".join(words)).blocks[0].kind
    target = {"t5": "the dog", "translator": "le chien"}.get(name)  # None for models without a decoder input
    tasks = [
        (ModelInput(text, target=target), edits)
        for text, edits in (
            (" ".join(words), []),
            (" ".join(words[:7]), [Edit(kind, 0, 1)]),
            (" ".join(words[:8]), [Edit(kind, 1, 2, 4)]),
            (" ".join(words), [Edit(kind, 1, 0), Edit(kind, 0, 0)]),
        )
    ]

    def numbers(task: tuple[ModelInput, list[Edit]]) -> list[Floats]:
        text, edits = task
        trace = model.trace(text, edits=edits)
        return [
            *(array for block in trace.blocks for array in (block.key, block.weights)),
            model.outcomes(text, [edits]).states,
        ]

    expected = [numbers(task) for task in tasks]
    start = threading.Barrier(len(tasks))
    equal: list[bool] = []

    def run_repeatedly(number: int) -> None:
        start.wait()
        for _ in range(10 if is_tiny else 3):
            found = numbers(tasks[number])
            equal.extend(
                np.array_equal(one, other) for one, other in zip(found, expected[number], strict=True)
            )

    threads = [threading.Thread(target=run_repeatedly, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(equal) >= 12 * len(expected[0])
    assert all(equal)


def test_model_that_runs_differently_than_when_checked_is_not_edited() -> None:
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    for module, message in (
        (second, "did not run in the expected order"),
        (first, "1 of the model's 2 attention modules ran"),
    ):
        with pytest.raises(ModelNotSupported, match=message), applying([first, second], [[()], [()]]):
            edits_of(module)
    assert edits_of(first) == ()
