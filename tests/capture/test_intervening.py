"""Edited models of every kind: a silent head is one without its slice of W_O, a pointed row is that row."""

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
from attnviz.interventions.changes import changing, edits_of
from attnviz.interventions.edit import Edit, HeadOutput
from attnviz.models import resolve
from attnviz.models.families import ONLY_ABLATED
from attnviz.trace import Floats, Kind
from tests.capture.by_transformers import PAIRED, TARGET, mixers_of, own_inputs, own_model
from tests.capture.tiny import SENTENCE, TEXTS, FolderOf, families

TIRED = "The dog did not cross the road as it was too tired."
SHORT = "The dog slept."


def given(folder: Path) -> ModelInput:
    return ModelInput(SENTENCE, target=TARGET if folder.name in PAIRED else None)


@contextmanager
def without_slice(output_layer: nn.Module, head: int, heads: int) -> Iterator[None]:
    """A layer's W_O without what it does with one head's outputs; its bias stays."""
    weight = output_layer.get_parameter("weight")
    before = weight.detach().clone()
    inputs = weight.shape[0] if isinstance(output_layer, Conv1D) else weight.shape[1]
    here = slice(head * inputs // heads, (head + 1) * inputs // heads)
    with torch.no_grad():
        weight[(here, slice(None)) if isinstance(output_layer, Conv1D) else (slice(None), here)] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)


@contextmanager
def replaced(weights_of: Mapping[int, Callable[[Tensor], object]]) -> Iterator[None]:
    """Every softmax of transformers' own attention goes by; the numbered ones are written over."""
    own: Any = nn.functional.softmax
    count = 0

    def softmax(scores: Tensor, *args: Any, **more: Any) -> Tensor:
        nonlocal count
        weights: Tensor = own(scores, *args, **more)
        if scores.dim() == 4:
            if count in weights_of:
                weights_of[count](weights)
            count += 1
        return weights

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.functional, "softmax", softmax)
        yield
    assert count > max(weights_of)


def by_transformers(model: Any, folder: Path) -> Any:
    more = {"output_hidden_states": True} if folder.name in PAIRED else {}
    with torch.inference_mode():
        return model(**own_inputs(folder, model), **more)


def close(found: Floats, expected: Tensor) -> None:
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6, rtol=1e-6)


def states_of(output: Any) -> Tensor:
    """[token, d_model]; of an encoder–decoder with its head, it is among the hidden states."""
    hidden = getattr(output, "last_hidden_state", None)
    of_batch: Tensor = output.decoder_hidden_states[-1] if hidden is None else hidden
    return of_batch[0]


# ALBERT has one W_O for all of its layers; see below.
@pytest.mark.parametrize("family", families("ablate", sorted({*TEXTS} - {"albert"})))
def test_a_silent_head_of_any_family_is_one_without_its_slice_of_w_o(
    family: str, folder_of: FolderOf
) -> None:
    folder = folder_of(family)
    model, second = loading.load(str(folder)), own_model(folder)
    unchanged = model.outcomes(given(folder), [()]).states
    for block, output_layer in zip(model.trace(given(folder)).blocks, mixers_of(second, family), strict=True):
        heads = len(block.query)
        for head in (0, heads - 1):
            found = model.outcomes(given(folder), [[Edit(block.kind, block.layer, head)]])
            with without_slice(output_layer, head, heads):
                output = by_transformers(second, folder)
            close(found.states[0], states_of(output))
            if found.source is not None:
                close(found.source[0], output.encoder_last_hidden_state[0])
            assert np.abs(found.states - unchanged).max() > 1e-4


def test_a_head_of_albert_is_silent_in_its_layer_alone(folder_of: FolderOf) -> None:
    folder = folder_of("albert")  # one W_O for all of its three layers
    model, second = loading.load(str(folder)), own_model(folder)
    [output_layer] = mixers_of(second, "albert")
    everywhere = [Edit("encoder", layer, 1) for layer in range(3)]
    found = model.outcomes(SENTENCE, [everywhere, everywhere[1:2]]).states
    with without_slice(output_layer, 1, 3):
        close(found[0], by_transformers(second, folder).last_hidden_state[0])
    with replaced({1: lambda weights: weights[:, 1].zero_()}):
        close(found[1], by_transformers(second, folder).last_hidden_state[0])


@contextmanager
def putting(output_layer: nn.Module, head: int, heads: int, rows: slice, vectors: Floats) -> Iterator[None]:
    """What a layer's W_O is given, by hand: for these rows, other outputs of one head."""

    def change(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        given = inputs[0].clone()
        here = slice(head * given.shape[-1] // heads, (head + 1) * given.shape[-1] // heads)
        given[0, rows, here] = torch.tensor(vectors)
        return (given,)

    hook = output_layer.register_forward_pre_hook(change)
    try:
        yield
    finally:
        hook.remove()


@pytest.mark.parametrize("family", families("other outputs", sorted({*TEXTS} - {"albert"})))
def test_other_outputs_of_a_head_are_what_w_o_is_given_in_transformers(
    family: str, folder_of: FolderOf
) -> None:
    folder = folder_of(family)
    model, second = loading.load(str(folder)), own_model(folder)
    random = np.random.default_rng(0)
    for block, output_layer in zip(model.trace(given(folder)).blocks, mixers_of(second, family), strict=True):
        heads, queries, d_head = block.output.shape
        many = random.normal(size=(queries, d_head)).astype(np.float32)
        for query, vectors in ((None, many), (None, many[:1]), (3, many[:1])):
            output = HeadOutput(block.kind, block.layer, heads - 1, vectors, query)
            found = model.outcomes(given(folder), [[output]])
            rows = slice(None) if query is None else slice(query, query + 1)
            with putting(output_layer, heads - 1, heads, rows, vectors):
                expected = by_transformers(second, folder)
            close(found.states[0], states_of(expected))
            if found.source is not None:
                close(found.source[0], expected.encoder_last_hidden_state[0])


@pytest.mark.parametrize("name", ["gpt2", "minilm-scratch"])
def test_outputs_that_do_not_fit_are_refused(name: str, folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of(name)) if name in TEXTS else name)
    text = SENTENCE if name in TEXTS else TIRED
    block = model.trace(text).blocks[0]
    queries, d_head = block.output.shape[1:]
    for shape, layer, query, said in (
        ((queries, d_head + 1), 0, None, f"has vectors of {d_head + 1} numbers; this head's have {d_head}"),
        ((queries - 1, d_head), 0, None, f"{queries - 1} vectors for {queries} tokens"),
        ((queries + 1, d_head), 0, None, f"{queries + 1} vectors for {queries} tokens"),
        ((1, d_head), 0, queries, f"there is no row {queries + 1}; there are {queries} tokens"),
        ((1, d_head), 99, None, "there is no [a-z]+ layer 100"),
    ):
        output = HeadOutput(block.kind, layer, 1, np.zeros(shape, dtype=np.float32), query)
        with pytest.raises(InvalidEdit, match=said) as caught:
            model.outcomes(text, [(), [output]])
        assert str(caught.value).endswith(".")
        with pytest.raises(InvalidEdit, match=said):
            model.trace(text, edits=[output])


POINTED = {
    "bert": ["encoder 2-3 5 >9", "encoder 1-2 4 3>11", "encoder 1-1 >6"],
    "llama": ["decoder 2-5 8 >3", "decoder 1-2 6 2>5", "decoder 2-1 >1"],
    "gpt_oss": ["decoder 2-5 8 >3", "decoder 1-2 6 4>5", "decoder 2-1 >1"],
    "gpt2": ["decoder 1-3 9 >9", "decoder 2-2 7"],
    "t5": ["encoder 3-2 4 >1", "decoder 1-1 5 >2", "cross 2-3 3 >7", "cross 1-2 >4"],
    "bart": ["encoder 1-1 3 2>8", "decoder 2-3 4 >1", "cross 1-2 5 >2"],
}


def write_over(weights: Tensor, edit: str) -> None:
    """The same change by hand, from the words of the edit alone."""
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


@pytest.mark.parametrize("family", families("pointing", tuple(POINTED)))
def test_a_pointed_row_is_that_row_in_a_forward_pass_of_transformers(
    family: str, folder_of: FolderOf
) -> None:
    folder = folder_of(family)
    entry, second = resolve.entry(str(folder)), own_model(folder)
    order = [("encoder", layer) for layer in range(entry.layers)]
    kinds = ("decoder", "cross") if family in PAIRED else ("decoder",)
    order += [(kind, layer) for layer in range(entry.decoder_layers) for kind in kinds]

    def expected(edits: Sequence[str]) -> tuple[dict[int, Tensor], Tensor]:
        seen: dict[int, Tensor] = {}
        here: dict[int, list[str]] = {}
        for edit in edits:
            kind, place, *_ = edit.split(" ")
            here.setdefault(order.index((kind, int(place.split("-")[0]) - 1)), []).append(edit)

        def change(number: int, weights: Tensor) -> None:
            for edit in here[number]:
                write_over(weights, edit)
            seen[number] = weights[0].clone()

        by_number = {number: partial(change, number) for number in here}
        with replaced(by_number):
            return seen, states_of(by_transformers(second, folder))

    for edits in (*([edit] for edit in POINTED[family]), POINTED[family]):
        weights, states = expected(edits)
        changes = [Edit.parse(edit) for edit in edits]
        close(loading.load(str(folder)).outcomes(given(folder), [changes]).states[0], states)
        trace = attnviz.trace(SENTENCE, folder, target=given(folder).target, edits=edits)
        assert trace.edits == tuple(edits)
        for number, changed in weights.items():
            found = trace.blocks[number].weights
            close(found, changed[..., : found.shape[-1]])  # behind them stands a sink's


def test_memory_bounds_the_batch_and_nothing_else(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    variants = [[Edit("encoder", 2, head)] for head in range(7)]
    at_once = minilm.outcomes(SHORT, variants).states
    monkeypatch.setattr(interface, "MAX_ELEMENTS", 3 * interface.variant_elements(6, 12, 384))
    sizes = []
    run = forward.outcomes

    def counted(*given: Any) -> Outcomes:
        sizes.append(len(given[3]))
        return run(*given)

    monkeypatch.setattr(forward, "outcomes", counted)
    np.testing.assert_allclose(minilm.outcomes(SHORT, variants).states, at_once, atol=5e-6)
    assert sizes == [3, 3, 1]


@pytest.mark.parametrize("family", families("expecting", ("gpt2", "bart", "bloom")))
def test_an_edited_model_expects_what_its_edited_states_say(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    model, asked = loading.load(str(folder)), given(folder)
    places = model.prediction_positions(asked)
    kind = resolve.entry(str(folder)).kinds[-1]
    edits = [Edit(kind, 1, 2), Edit(kind, 0, 0, 3)]
    found = model.outcomes(asked, [(), edits], places[4]).probabilities
    assert found is not None
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    for probabilities, told in zip(
        found, (model.predictions(asked), model.predictions(asked, edits=edits)), strict=True
    ):
        likeliest = told[4].candidates[0]
        assert probabilities.argmax() == likeliest.id
        assert probabilities.max() == pytest.approx(likeliest.probability, abs=1e-5)
        assert model.words([likeliest.id]) == (likeliest.text,)
    assert np.abs(found[0] - found[1]).max() > 1e-3


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_what_is_written_is_written_with_the_edits(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    entry, model = resolve.entry(str(folder)), loading.load(str(folder))
    kind: Kind = "decoder"
    writes = ModelInput(SENTENCE, writing=Writing(tokens=6))
    edits = [Edit(other, 0, head) for other in entry.kinds for head in range(3)]
    edits.append(Edit(kind, 1, 0, 4, None, 2))
    trace = model.trace(writes, edits=edits)
    tokens = trace.of_kind(kind)[0].query_tokens
    told = model.predictions(writes, edits=edits)
    for token, prediction in list(zip(tokens[1:], told, strict=False))[-trace.written :]:
        assert token.id == prediction.candidates[0].id
    unchanged = model.trace(writes).of_kind(kind)[0].query_tokens
    assert [token.id for token in tokens] != [token.id for token in unchanged]


@pytest.mark.parametrize("family", families("ablate of their own", sorted(ONLY_ABLATED)))
def test_who_has_an_attention_of_its_own_is_ablated_but_not_redirected(
    family: str, folder_of: FolderOf
) -> None:
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
    ("family", "edit", "said"),
    [
        ("bert", "decoder 1-1", "there is no decoder layer 1. Layers: encoder 1 to "),
        ("mistral", "decoder 1-1 12 >2", "this layer masks"),
        ("bart", "cross 1-1 3 >99", "there is no key 99"),
    ],
)
def test_an_edit_without_a_place_is_refused(family: str, edit: str, said: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    for ask in (attnviz.trace, attnviz.predictions):
        if ask is attnviz.trace or "mask" not in said:
            with pytest.raises(InvalidEdit, match=said) as caught:
                ask(SENTENCE, folder, target=given(folder).target, edits=[edit])
            assert str(caught.value).endswith(".")


# By the common attention function, by a hook, in a half of a pair, and by our own Transformer.
@pytest.mark.parametrize("name", families("threads", ("minilm", "translator", "mpnet", "t5", "gpt_neo")))
def test_many_visitors_use_one_model_at_once(name: str, folder_of: FolderOf) -> None:
    """Each reads a text of its own with changes of its own, over and over."""
    own = name in TEXTS
    words = (SENTENCE if own else TIRED.rstrip(".")).split()
    model = loading.load(str(folder_of(name)) if own else name)
    kind = model.trace(" ".join(words)).blocks[0].kind
    target = {"t5": "the dog", "translator": "le chien"}.get(name)  # or it would write one each time
    visits = [
        (ModelInput(text, target=target), edits)
        for text, edits in (
            (" ".join(words), []),
            (" ".join(words[:7]), [Edit(kind, 0, 1)]),
            (" ".join(words[:8]), [Edit(kind, 1, 2, 4)]),
            (" ".join(words), [Edit(kind, 1, 0), Edit(kind, 0, 0)]),
        )
    ]

    def numbers(visit: tuple[ModelInput, list[Edit]]) -> list[Floats]:
        text, edits = visit
        trace = model.trace(text, edits=edits)
        return [
            *(array for block in trace.blocks for array in (block.key, block.weights)),
            model.outcomes(text, [edits]).states,
        ]

    alone = [numbers(visit) for visit in visits]
    start = threading.Barrier(len(visits))
    equal: list[bool] = []

    def visit_again_and_again(number: int) -> None:
        start.wait()
        for _ in range(10 if own else 3):
            found = numbers(visits[number])
            equal.extend(np.array_equal(one, right) for one, right in zip(found, alone[number], strict=True))

    visitors = [threading.Thread(target=visit_again_and_again, args=(number,)) for number in range(4)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(equal) >= 12 * len(alone[0])
    assert all(equal)


def test_a_model_that_runs_otherwise_than_when_it_was_checked_is_not_changed() -> None:
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    for asked, said in (
        (second, "did not run in the order"),
        (first, "1 of the model's 2 attention modules ran"),
    ):
        with pytest.raises(ModelNotSupported, match=said), changing([first, second], [[()], [()]]):
            edits_of(asked)
    assert edits_of(first) == ()
