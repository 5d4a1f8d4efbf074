"""Traces of the translator, with and without edits, equal the steps of its forward pass."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.capture.translator import TranslatorModel, spelled, words
from attnviz.errors import EmptyText, InvalidEdit, UnknownWords
from attnviz.interventions.edit import Edit
from attnviz.trace import Block, Kind
from attnviz.trained.translator import grammar, reading, vocabulary
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.transformer.encoder_decoder import EncoderDecoderSteps
from attnviz.transformer.multi_head import MultiHeadSteps

TIRED = "The dog did not cross the road as it was too tired."
FRENCH = "Le chien n'a pas traversé la route car il était trop fatigué."
BOTH = ModelInput(TIRED, target=FRENCH)
SIZES = Sizes(d_model=21, n_heads=3, d_feed_forward=23, encoder_layers=2, decoder_layers=2)
EDITS = [Edit("encoder", 1, 0, 8, 1, 6), Edit("cross", 0, 2, 9), Edit("decoder", 1, 1)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TranslatorModel:
    """An untrained translator with two decoder layers."""
    file = tmp_path_factory.mktemp("weights") / "random.safetensors"
    Translator(build(SIZES, seed=5), SIZES, {}).save(file)
    return TranslatorModel("random", file)


def run_steps(model: TranslatorModel, edits: list[Edit]) -> EncoderDecoderSteps:
    source, target = words(reading.tokens(TIRED)), words(reading.french(FRENCH))
    return model.translator.steps(source, target, edits)


def steps_of(steps: EncoderDecoderSteps, block: Block) -> MultiHeadSteps:
    if block.kind == "encoder":
        return steps.encoder.layers[block.layer].attention
    layer = steps.decoder.layers[block.layer]
    return layer.attention if block.kind == "decoder" else layer.cross_attention


def test_blocks_have_their_tokens_and_masks_in_execution_order(model: TranslatorModel) -> None:
    trace = model.trace(BOTH)
    assert (trace.model, trace.text, trace.target) == ("random", TIRED, FRENCH)
    order = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)]
    assert [(block.kind, block.layer) for block in trace.blocks] == order
    english = [*TIRED.lower().rstrip(".").split(), "[END]"]
    french = ["[START]", *FRENCH.lower().rstrip(".").replace("'", "' ").split()]
    expected: dict[Kind, tuple[list[str], list[str]]] = {
        "encoder": (english, english),
        "decoder": (french, french),
        "cross": (french, english),
    }
    for block in trace.blocks:
        queries, keys = expected[block.kind]
        assert [token.text for token in block.query_tokens] == queries
        assert [token.text for token in block.key_tokens] == keys
        future = np.triu(np.ones(block.mask.shape, dtype=np.bool_), 1)
        assert np.array_equal(block.mask, ~future if block.kind == "decoder" else np.ones_like(future))
        for token in block.query_tokens:
            text = TIRED if block.kind == "encoder" else FRENCH
            assert token.special or text[token.start : token.end].lower() == token.text


@pytest.mark.parametrize("edits", [[], EDITS[:1], EDITS], ids=len)
def test_every_number_equals_the_models_bit_for_bit(model: TranslatorModel, edits: list[Edit]) -> None:
    steps, trace = run_steps(model, edits), model.trace(BOTH, edits=edits)
    assert trace.edits == ("encoder 2-1 9 2>7", "cross 1-3 10", "decoder 2-2")[: len(edits)]
    for block in trace.blocks:
        expected = steps_of(steps, block)
        for name in ("query", "key", "value"):
            assert np.array_equal(getattr(block, name), getattr(expected, name).numpy())
        for name in ("scores", "weights"):
            assert np.array_equal(getattr(block, name), getattr(expected.attention, name).numpy())
        np.testing.assert_allclose(block.output, expected.attention.output.numpy(), atol=1e-6)


def test_outcomes_equal_the_edited_steps(model: TranslatorModel) -> None:
    found = model.outcomes(BOTH, [EDITS, []], 5)
    assert found.source is not None
    assert found.probabilities is not None
    for number, edits in enumerate((EDITS, [])):
        steps = run_steps(model, edits)
        np.testing.assert_allclose(found.states[number], steps.decoder.output, atol=1e-6)
        np.testing.assert_allclose(found.source[number], steps.encoder.output, atol=1e-6)
        np.testing.assert_allclose(found.probabilities[number], steps.probabilities[5], atol=1e-6)
    assert np.abs(found.probabilities[0] - found.probabilities[1]).max() > 1e-6


def test_without_a_target_the_model_translates() -> None:
    model = loading.load_translator("translator")
    trace = model.trace(TIRED, edits=EDITS[:1])
    expected = model.translator.translate(words(reading.tokens(TIRED)), EDITS[:1])
    assert words(trace.of_kind("cross")[0].query_tokens) == expected
    assert trace.target is not None
    assert np.array_equal(
        model.trace(ModelInput(TIRED, target=trace.target), edits=EDITS[:1]).stack("cross"),
        trace.stack("cross"),
    )


@given(st.lists(st.sampled_from(vocabulary.FRENCH.words[3:]), max_size=80))
def test_every_generated_word_has_its_span_in_the_text(words: list[str]) -> None:
    text = grammar.format_sentence(words)
    start, *found = spelled(words, text)
    assert start == reading.french("le")[0]
    assert [text[token.start : token.end].lower() for token in found] == words
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_invalid_input_is_refused(model: TranslatorModel) -> None:
    with pytest.raises(UnknownWords, match="xylophone"):
        model.trace("The xylophone was tired.")
    with pytest.raises(UnknownWords, match="xylophone"):
        model.trace(ModelInput(TIRED, target="Le xylophone était fatigué."))
    with pytest.raises(EmptyText):
        model.trace(" ")
    with pytest.raises(InvalidEdit, match="row 99"):
        model.trace(TIRED, edits=[Edit("encoder", 0, 0, 98)])
