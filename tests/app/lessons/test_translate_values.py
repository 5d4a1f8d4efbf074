"""A translation with all its choices, recomputed from the model's own numbers."""

import numpy as np
import pytest
import torch

from attnviz.app.lessons.translate.values import (
    Translation,
    pronouns,
    translate,
)
from attnviz.capture import loading
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, START

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


@pytest.fixture(scope="module")
def tired() -> Translation:
    return translate("translator", TIRED)


def test_the_tokens_are_what_encoder_and_decoder_read(tired: Translation) -> None:
    assert [token.text for token in tired.source] == [*TIRED.lower().rstrip(".").split(), END]
    assert [token.text for token in tired.target] == [START, *tired.words]
    assert tired.text == tired.trace.target == "Le chien n'a pas traversé la route car il était trop fatigué."
    assert not tired.outside


def test_the_probabilities_are_the_softmax_of_the_logits(tired: Translation) -> None:
    model = loading.load_translator("translator").translator.model
    source = torch.tensor(ENGLISH.ids(token.text for token in tired.source))
    target = torch.tensor(FRENCH.ids(token.text for token in tired.target))
    with torch.no_grad():
        logits = model(source, target).logits.double().numpy()
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    for row, choices in zip(expected, tired.choices, strict=True):
        for word, probability in choices:
            assert probability == pytest.approx(row[FRENCH.ids([word])[0]], abs=1e-5)
    (choice,) = tired.pronouns
    il, elle = FRENCH.ids(["il", "elle"])
    assert (choice.il, choice.elle) == pytest.approx(tuple(expected[choice.step, [il, elle]]), abs=1e-5)


def test_the_pronoun_follows_from_the_last_word(tired: Translation) -> None:
    (il,), (elle,) = tired.pronouns, translate("translator", NARROW).pronouns
    assert tired.words[il.step] == "il"
    assert il.il > il.elle
    assert elle.elle > elle.il


def test_a_moved_arrow_changes_the_translation(tired: Translation) -> None:
    moved = translate("translator", TIRED, ("encoder 2-1 9 2>7",))
    assert moved.words[tired.pronouns[0].step] == "elle"
    assert moved.trace.block("encoder", 1).weights[0, 8, 1] == 0
    same = translate("translator", TIRED, ("encoder 2-1 9 2>2",))
    assert (same.words, same.choices) == (tired.words, tired.choices)


def test_a_sentence_from_outside_is_translated_and_said_to_be_so() -> None:
    outside = translate("translator", "tired tired dog road")
    assert outside.outside
    assert len(outside.choices) == len(outside.words) + 1


def test_every_pronoun_is_told() -> None:
    probabilities = torch.zeros(4, len(FRENCH))
    il, elle = FRENCH.ids(["il", "elle"])
    probabilities[0, [il, elle]] = torch.tensor([0.75, 0.125])
    probabilities[2, [il, elle]] = torch.tensor([0.25, 0.5])
    found = pronouns(["il", "chien", "elle"], probabilities)
    assert [(choice.step, choice.il, choice.elle) for choice in found] == [(0, 0.75, 0.125), (2, 0.25, 0.5)]
