"""The translator: greedy decoding, batches, edits and files."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.errors import InvalidEdit, ModelFilesDamaged
from attnviz.interventions.edit import Edit
from attnviz.trained.translator import grammar
from attnviz.trained.translator.translator import Sizes, Translator, build, max_translation_words
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, PAD, START
from attnviz.transformer.encoder_decoder import EncoderDecoder
from tests.translator_reference import Array, reference

SIZES = Sizes(d_model=21, n_heads=3, d_feed_forward=23, encoder_layers=2, decoder_layers=2)
SOURCES = [ENGLISH.words[3:8], ENGLISH.words[5:8], ENGLISH.words[9:10], ENGLISH.words[7:12]]
TARGETS = [FRENCH.words[3:8], FRENCH.words[9:20], FRENCH.words[4:5], FRENCH.words[8:11]]


@pytest.fixture(scope="module")
def translator() -> Translator:
    """An untrained translator that generates many different words, because its parameters are scaled up."""
    model = build(SIZES, seed=5)
    for parameter in model.decoder.parameters():
        parameter.data *= 3
    return Translator(model, SIZES, {"variant": "guided", "seed": "5"})


def constant_model(word: str) -> EncoderDecoder:
    """Return a model that always predicts this word: every decoder output is its embedding, scaled up."""
    model = build(SIZES, seed=5)
    (number,) = FRENCH.ids([word])
    vector = model.target_embedding.table.weight.data[number]
    vector *= 10
    last = model.get_submodule("decoder.layers.1.feed_forward_add_norm.norm")
    last.load_state_dict({"weight": torch.zeros_like(vector), "bias": vector})
    return model


def greedy_reference(
    translator: Translator, source: Sequence[str], edits: Sequence[Edit] = ()
) -> tuple[str, ...]:
    """Decode greedily with a full forward pass for each word."""
    words: tuple[str, ...] = ()
    encoder_edits = [edit for edit in edits if edit.kind == "encoder"]
    while len(words) < max_translation_words(source):
        decoder_edits = [edit for edit in edits if edit.kind != "encoder" and (edit.query or 0) <= len(words)]
        best = (
            translator.steps(source, words, encoder_edits + decoder_edits)
            .logits[-1]
            .sort(descending=True)
            .indices.tolist()
        )
        word = next(found for found in map(FRENCH.word, best) if found not in {PAD, START})
        if word == END:
            break
        words = (*words, word)
    return words


def test_batched_steps_equal_single_steps(translator: Translator) -> None:
    batched = translator.steps_all(SOURCES, TARGETS).probabilities
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        single = translator.steps(source, target).probabilities
        torch.testing.assert_close(batched[number, : len(single)], single, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("name", "heads"), [(variant.name, variant.n_heads) for variant in VARIANTS.values()]
)
def test_shipped_translators_equal_the_numpy_reference(name: str, heads: int) -> None:
    pair = grammar.sentence(random.Random(3))  # noqa: S311 - not security-relevant
    expected_weights: dict[str, Array] = {}
    expected = reference(name, heads).probabilities(pair.source, pair.target, expected_weights.__setitem__)
    steps = Translator.load(WEIGHTS / f"{name}.safetensors").steps(pair.source, pair.target)
    np.testing.assert_allclose(steps.logits.log_softmax(dim=-1), np.log(expected), atol=1e-4)
    ours: dict[str, Tensor] = {}
    for number, encoder in enumerate(steps.encoder.layers):
        ours[f"encoder.layers.{number}.attention"] = encoder.attention.attention.weights
    for number, decoder in enumerate(steps.decoder.layers):
        ours[f"decoder.layers.{number}.attention"] = decoder.attention.attention.weights
        ours[f"decoder.layers.{number}.cross_attention"] = decoder.cross_attention.attention.weights
    assert ours.keys() == expected_weights.keys()
    for place, weights in expected_weights.items():
        np.testing.assert_allclose(ours[place], weights, atol=1e-5, err_msg=place)


EDITS = [
    [],
    [Edit("encoder", 1, 0, 3, 0, 2)],
    [Edit("cross", 0, 1, 1)],
    [Edit("decoder", 0, 2), Edit("encoder", 0, 0, 1, 2, 0)],
]


def test_translations_equal_greedy_decoding_singly_and_in_batches(translator: Translator) -> None:
    plain = [greedy_reference(translator, source) for source in SOURCES]
    changed = [
        greedy_reference(translator, source, edits) for source, edits in zip(SOURCES, EDITS, strict=True)
    ]
    assert translator.translate_all(SOURCES) == plain
    assert translator.translate_all(SOURCES, EDITS) == changed
    assert [translator.translate(source) for source in SOURCES] == plain
    assert [translator.translate(s, e) for s, e in zip(SOURCES, EDITS, strict=True)] == changed
    assert plain[0] == changed[0]
    assert plain[1:] != changed[1:]
    assert len({word for words in plain for word in words}) > 2


def test_translation_ends_at_the_end_token_or_the_maximum_length() -> None:
    assert Translator(constant_model(END), SIZES, {}).translate(SOURCES[0]) == ()
    for word in (PAD, START):  # never generated
        assert word not in Translator(constant_model(word), SIZES, {}).translate(SOURCES[0])
    translator = Translator(constant_model("chien"), SIZES, {})
    assert translator.translate(SOURCES[1]) == ("chien",) * max_translation_words(SOURCES[1])
    assert [len(words) for words in translator.translate_all(SOURCES)] == [
        max_translation_words(source) for source in SOURCES
    ]


def test_correct_translations_are_shorter_than_the_maximum() -> None:
    rng = random.Random(2)  # noqa: S311 - not security-relevant
    for pair in (grammar.sentence(rng) for _ in range(300)):
        assert len(pair.target) < max_translation_words(pair.source)


def test_edit_beyond_the_end_is_refused(translator: Translator) -> None:
    length = len(translator.translate(SOURCES[2]))
    translator.translate(SOURCES[2], [Edit("cross", 0, 0, length)])
    with pytest.raises(InvalidEdit, match=f"there is no row {length + 2}; there are {length + 1} tokens"):
        translator.translate(SOURCES[2], [Edit("cross", 0, 0, length + 1)])
    with pytest.raises(InvalidEdit, match="there is no key 3; there are 2 tokens"):
        translator.translate_all(SOURCES, [(), (), [Edit("cross", 0, 0, 0, 2, 0)], ()])


@pytest.fixture(scope="module")
def file(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("weights") / "guided.safetensors"
    translator.save(file)
    return file


def test_saved_translator_can_be_loaded(translator: Translator, file: Path) -> None:
    loaded = Translator.load(file)
    assert (loaded.sizes, loaded.about) == (SIZES, {"variant": "guided", "seed": "5"})
    assert not loaded.model.training
    for name, parameter in loaded.model.state_dict().items():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, translator.model.state_dict()[name].half().float())


def test_missing_and_damaged_files_are_reported(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "guided.safetensors"
    for content in (None, b"", file.read_bytes()[:-1]):
        if content is not None:
            other.write_bytes(content)
        with pytest.raises(
            ModelFilesDamaged, match=rf"{other} is missing or damaged\. Install attnviz again"
        ):
            Translator.load(other)
