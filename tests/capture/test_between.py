"""A sentence in which one word's vector turns into another: its ends are the two sentences themselves."""

import numpy as np
import pytest
import torch

from attnviz.capture import loading
from attnviz.capture.between import MOST_TOKENS, between
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.errors import AttnvizError
from attnviz.trained.translator.vocabulary import FRENCH

TIRED = "The dog did not cross the road as it was too tired."
NARROW = TIRED.replace("tired", "narrow")


@pytest.mark.parametrize("model", ["minilm", "minilm-scratch", "translator"])
def test_both_ends_are_the_model_on_the_two_sentences(model: str) -> None:
    found = between(model, TIRED, NARROW, 8)
    assert found.shares == pytest.approx(np.arange(21) / 20)
    assert (found.tokens[found.place].text, found.other.text) == ("tired", "narrow")
    for step, text in ((0, TIRED), (-1, NARROW)):
        blocks = loading.load(model).trace(text).of_kind("encoder")
        assert found.rows[step] == pytest.approx(np.stack([b.weights[:, 8] for b in blocks]), abs=1e-5)
    assert found.rows.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def test_on_the_way_the_word_is_the_mix_of_both() -> None:
    """By transformers alone: its table of words gives the mix at that place."""
    found = between("minilm", TIRED, NARROW, 9)
    model = loading.load("minilm")
    assert isinstance(model, HuggingFaceModel)
    ids = torch.tensor([[token.id for token in found.tokens]])

    def mix(table: torch.nn.Embedding, _: object, vectors: torch.Tensor) -> torch.Tensor:
        mixed = vectors.clone()
        mixed[0, found.place] = 0.65 * vectors[0, found.place] + 0.35 * table.weight[found.other.id]
        return mixed

    hook = model.network.get_input_embeddings().register_forward_hook(mix)
    try:
        with torch.inference_mode():
            weights = model.network(ids, output_attentions=True).attentions
    finally:
        hook.remove()
    expected = torch.stack(weights)[:, 0, :, 9].numpy()
    assert found.rows[7] == pytest.approx(expected, abs=1e-5)


def test_a_translator_writes_the_other_pronoun_from_somewhere_on() -> None:
    found = between("translator", TIRED, NARROW, 8)
    assert found.outcome is not None
    assert found.outcome.words == ("il", "elle")
    translator = loading.load_translator("translator").translator
    for step, text in ((0, TIRED), (-1, NARROW)):
        words = tuple(text[:-1].lower().split())
        french = translator.translate(words)
        at = next(place for place, word in enumerate(french) if word in ("il", "elle"))
        probabilities = translator.steps(words, french[:at]).probabilities[at]
        for number, word in zip(FRENCH.ids(["il", "elle"]), found.outcome.probabilities, strict=True):
            assert word[step] == pytest.approx(float(probabilities[number]), abs=1e-5)


def test_a_model_that_writes_on_is_asked_for_its_next_word() -> None:
    john, mary = (f"when Mary and John went to the shop , {name} gave a book to" for name in ("John", "Mary"))
    found = between("storyteller", john, mary, 5)
    assert found.outcome is not None
    assert found.outcome.words == ("Mary", "John")
    model = loading.load("storyteller")
    for step, text, at in ((0, john, 0), (-1, mary, 1)):
        probabilities = model.outcomes(text, [()], len(found.tokens) - 1).probabilities
        assert probabilities is not None
        assert found.outcome.probabilities[at][step] == pytest.approx(probabilities.max(), abs=1e-5)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (TIRED, "differ in 0 tokens"),
        (NARROW.replace("dog", "cat"), "differ in 2 tokens"),
        (TIRED.replace("tired", "very tired"), "as many tokens"),
    ],
)
def test_where_not_one_word_alone_differs_that_is_said(second: str, told: str) -> None:
    with pytest.raises(AttnvizError, match=told):
        between("minilm", TIRED, second, 9)


def test_a_sentence_that_would_take_too_long_is_refused() -> None:
    text = "dog " * MOST_TOKENS
    with pytest.raises(AttnvizError, match="read 21 times"):
        between("minilm", text, text + "cat", 3)
