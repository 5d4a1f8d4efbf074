"""A translation with all its probabilities, recomputed from the model's logits."""

import numpy as np
import pytest
import torch

from attnviz.app.lessons.translate.values import Translation, translate
from attnviz.capture import loading
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, START

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


@pytest.fixture(scope="module")
def tired() -> Translation:
    return translate("translator", TIRED)


def test_source_and_target_tokens(tired: Translation) -> None:
    assert [token.text for token in tired.source] == [*TIRED.lower().rstrip(".").split(), END]
    assert [token.text for token in tired.target] == [START, *tired.words]
    assert tired.text == tired.trace.target == "Le chien n'a pas traversé la route car il était trop fatigué."
    assert not tired.outside


def test_probabilities_are_the_softmax_of_the_logits(tired: Translation) -> None:
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
    choice = tired.pronoun
    assert choice
    il, elle = FRENCH.ids(["il", "elle"])
    assert (choice.il, choice.elle) == pytest.approx(tuple(expected[choice.step, [il, elle]]), abs=1e-5)


def test_pronoun_depends_on_the_last_word(tired: Translation) -> None:
    il, elle = tired.pronoun, translate("translator", NARROW).pronoun
    assert il
    assert elle
    assert tired.words[il.step] == "il"
    assert il.il > il.elle
    assert elle.elle > elle.il


def test_sentence_outside_the_grammar_is_translated_and_marked() -> None:
    outside = translate("translator", "tired tired dog road")
    assert outside.outside
    assert len(outside.choices) == len(outside.words) + 1
