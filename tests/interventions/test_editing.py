"""Edits of attention change only the weights that they name, and never the shared model."""

import contextlib
from dataclasses import astuple

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit, HeadOutput
from attnviz.interventions.editing import attention_at, edit_weights, edited, places
from attnviz.trace import Floats, Kind
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.transformer.encoder_decoder import EncoderDecoderSteps
from attnviz.transformer.multi_head import MultiHeadSteps

SIZES = Sizes(d_model=21, n_heads=3, d_feed_forward=23, encoder_layers=2, decoder_layers=2)
SOURCE = ENGLISH.words[3:13]  # 10 words and [END]
TARGET = FRENCH.words[3:9]  # [START] and 6 words

ROWS = [
    Edit("encoder", 0, 2, 9, 1, 6),
    Edit("encoder", 1, 0, 9, 1, 6),
    Edit("decoder", 0, 1, 5, 2, 3),
    Edit("cross", 1, 2, 4, 8, 0),
]

indices = st.integers(min_value=0, max_value=9998)


@st.composite
def any_edit(draw: st.DrawFn) -> Edit:
    kind: Kind = draw(st.sampled_from(["encoder", "decoder", "cross"]))
    layer, head, query, *keys = (draw(indices) for _ in range(5))
    what = draw(st.sampled_from(["head", "row", "redirected head", "redirected row", "move"]))
    if what == "head":
        return Edit(kind, layer, head)
    if what == "row":
        return Edit(kind, layer, head, query)
    if what == "redirected head":
        return Edit(kind, layer, head, target=0 if kind == "decoder" else keys[0])
    if what == "redirected row":
        return Edit(kind, layer, head, query, target=keys[0] % (query + 1))
    assume(kind != "decoder" or max(keys) <= query)
    return Edit(kind, layer, head, query, *keys)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(build(SIZES, seed=7), SIZES, {})


def run(translator: Translator, *edits: Edit) -> EncoderDecoderSteps:
    return translator.steps(SOURCE, TARGET, edits)


def attention(steps: EncoderDecoderSteps, kind: Kind, layer: int) -> MultiHeadSteps:
    if kind == "encoder":
        return steps.encoder.layers[layer].attention
    found = steps.decoder.layers[layer]
    return found.attention if kind == "decoder" else found.cross_attention


def same_bits(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one, other)


@given(any_edit())
def test_an_edit_is_parsed_from_its_own_string(edit: Edit) -> None:
    assert Edit.parse(str(edit)) == edit


@pytest.mark.parametrize(
    ("edit", "written"),
    [
        (Edit("encoder", 1, 0), "encoder 2-1"),
        (Edit("cross", 0, 3, 8), "cross 1-4 9"),
        (Edit("encoder", 1, 0, 8, 1, 6), "encoder 2-1 9 2>7"),
        (Edit("encoder", 1, 0, 8, None, 6), "encoder 2-1 9 >7"),
        (Edit("encoder", 1, 0, None, None, 6), "encoder 2-1 >7"),
        (Edit("decoder", 0, 1, None, None, 0), "decoder 1-2 >1"),
    ],
)
def test_the_string_of_an_edit_counts_from_one(edit: Edit, written: str) -> None:
    assert str(edit) == written


@pytest.mark.parametrize(
    "text",
    [
        *("", "encoder", "encoder 2", "encoder 0-1", "encoder 2-1 0", "encoder 2-1 9 2>", "encoder 2-1 2>7"),
        *("encoder 2-1 9>7", "encoder 2-1 9 <>7", "encoder 2-1 > 7", "encoder 2-1 >0", "decoder 2-1 >7"),
        *("encoder 2-1 9 2>7 ", "encoder 2-1\n", "encoder -2-1", "encoder 2-1 99999", "middle 2-1"),
        *("encoder \N{FULLWIDTH DIGIT TWO}-1", "decoder 1-1 3 2>5", "<script>" * 9),
    ],
)
def test_invalid_strings_are_refused_with_a_short_message(text: str) -> None:
    with pytest.raises(InvalidEdit, match=r"\.$") as caught:
        Edit.parse(text)
    assert len(str(caught.value)) < 250


@given(
    st.text(alphabet="encodrs 0123->٣\n", max_size=12)
    | st.from_regex(r"cross [0-9]-[0-9]( [0-9])?( [0-9]?<?>[0-9])?")
)
def test_any_string_is_parsed_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidEdit):
        assert str(Edit.parse(text)) == text


@pytest.mark.parametrize(
    "numbers",
    [
        (-1, 0),
        (0, -1),
        (0, 0, -1),
        (0, 0, None, 1, 2),
        (0, 0, 1, 1, None),
        (0, 0, None, 1, None),
        (0, 0, 1, 1, -1),
    ],
)
def test_invalid_indices_are_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(InvalidEdit):
        Edit("encoder", *numbers)


@pytest.mark.parametrize(("source", "target"), [(1, 3), (3, 1)])
def test_edits_of_a_decoder_cannot_attend_to_later_tokens(source: int, target: int) -> None:
    with pytest.raises(InvalidEdit, match="names a later token"):
        Edit("decoder", 0, 0, 2, source, target)
    assert Edit("cross", 0, 0, 2, source, target)


@pytest.mark.parametrize("edit", ROWS, ids=str)
def test_moving_a_weight_to_its_own_key_changes_nothing(translator: Translator, edit: Edit) -> None:
    same = Edit(edit.kind, edit.layer, edit.head, edit.query, edit.source, edit.source)
    assert same_bits(run(translator, same).logits, run(translator).logits)


@pytest.mark.parametrize("what", ["move", "ablate", "redirect"])
@pytest.mark.parametrize("edit", ROWS, ids=str)
def test_an_edit_of_a_row_changes_only_that_row(translator: Translator, edit: Edit, what: str) -> None:
    kind, layer, head, query, source, target = astuple(edit)
    before = attention(run(translator), kind, layer)
    expected = before.attention.weights.clone()
    row = expected[head, query]
    if what == "move":
        row[target], row[source] = row[target] + row[source], 0
    else:
        edit = Edit(kind, layer, head, query, target=target if what == "redirect" else None)
        row[:] = torch.eye(len(row))[target] if what == "redirect" else 0
    after = attention(run(translator, edit), kind, layer)
    assert same_bits(after.attention.weights, expected)
    for unedited in ("scores", "dot_products", "masked"):
        assert same_bits(getattr(after.attention, unedited), getattr(before.attention, unedited))
    others = torch.ones(before.query.shape[:2], dtype=torch.bool)
    others[head, query] = False
    assert same_bits(after.attention.output[others], before.attention.output[others])
    torch.testing.assert_close(after.attention.output[head, query], row @ before.value[head])
    # The output of the layer changes only by the projected change of this row.
    projection = attention_at(translator.model, places(translator.model)[kind, layer]).output_projections()[
        head
    ]
    change = (after.attention.output - before.attention.output)[head, query] @ projection
    assert change.abs().max() > 1e-4
    torch.testing.assert_close(after.output[query], before.output[query] + change)
    rows = torch.arange(len(before.output)) != query
    assert same_bits(after.output[rows], before.output[rows])


def test_edits_are_applied_in_order() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25, 0.0]]])
    first, second = Edit("encoder", 0, 0, 0, 0, 1), Edit("encoder", 0, 0, 0, 1, 2)
    assert edit_weights(weights, [[first, second]]).tolist() == [[[0, 0, 1, 0]]]
    assert edit_weights(weights, [[second, first]]).tolist() == [[[0, 0.5, 0.5, 0]]]
    assert edit_weights(weights, [[first, Edit("encoder", 0, 0, 0)]]).tolist() == [[[0, 0, 0, 0]]]
    redirected = Edit("encoder", 0, 0, 0, target=3)
    assert edit_weights(weights, [[first, redirected]]).tolist() == [[[0, 0, 0, 1]]]
    assert edit_weights(weights, [[redirected, Edit("encoder", 0, 0)]]).tolist() == [[[0, 0, 0, 0]]]
    assert edit_weights(weights, [[redirected, Edit("encoder", 0, 0, 0, 3, 1)]]).tolist() == [[[0, 1, 0, 0]]]
    assert weights.tolist() == [[[0.5, 0.25, 0.25, 0.0]]]


def test_an_edited_copy_shares_the_parameters_and_leaves_the_model_unchanged(translator: Translator) -> None:
    before = run(translator).logits
    copied = edited(translator.model, [ROWS])
    addresses = {parameter.data_ptr() for parameter in translator.model.parameters()}
    assert {parameter.data_ptr() for parameter in copied.parameters()} == addresses
    assert same_bits(run(translator).logits, before)
    assert not any("Edited" in type(module).__name__ for module in translator.model.modules())


@pytest.mark.parametrize(
    ("kind", "query"), [("encoder", None), ("encoder", 4), ("decoder", 2), ("cross", None)]
)
def test_a_replaced_output_changes_only_its_rows(
    translator: Translator, kind: Kind, query: int | None
) -> None:
    before = attention(run(translator), kind, 1)
    vectors = np.ones((1, before.value.shape[-1]), dtype=np.float32)
    steps = translator.steps(SOURCE, TARGET, [HeadOutput(kind, 1, 2, vectors, query)])
    after = attention(steps, kind, 1)
    expected = before.attention.output.clone()
    expected[2, slice(None) if query is None else query] = 1
    assert same_bits(after.attention.output, expected)
    assert same_bits(after.attention.weights, before.attention.weights)
    rows = torch.arange(len(before.output)) != (-1 if query is None else query)
    assert same_bits(after.output[rows], before.output[rows]) == (query is not None)


@pytest.mark.parametrize(
    ("vectors", "query", "message"),
    [
        (np.zeros(4), None, "needs vectors of finite numbers"),
        (np.zeros((0, 4)), None, "needs vectors of finite numbers"),
        (np.full((1, 4), np.nan), None, "needs vectors of finite numbers"),
        (np.zeros((2, 4)), 1, "“encoder 1-1 2: output replaced” edits one row, but has 2 vectors"),
        (np.zeros((1, 4)), -1, "must not be negative"),
    ],
)
def test_invalid_vectors_are_refused(vectors: Floats, query: int | None, message: str) -> None:
    with pytest.raises(InvalidEdit, match=message):
        HeadOutput("encoder", 0, 0, vectors, query)
