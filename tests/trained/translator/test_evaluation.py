"""Measures of a model in training, compared with a slow computation."""

import numpy as np
import pytest

from attnviz.trained.translator import measures
from attnviz.trained.translator.evaluation import Evaluation
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import VARIANTS
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END


@pytest.mark.parametrize("guided", [True, False])
def test_snapshot_has_measures_and_translations(guided: bool) -> None:
    evaluation = Evaluation.of(6)
    translator = Translator.load(VARIANTS["unguided"].file)
    snapshot = evaluation.snapshot(translator, 0, guided=guided)
    surprises = []
    for pair in evaluation.held_out:
        probabilities = translator.steps(pair.source, pair.target).probabilities
        following = FRENCH.ids([*pair.target, END])
        surprises += [-float(row[word].log()) for row, word in zip(probabilities, following, strict=True)]
    weights = measures.weights_from_it(translator, evaluation.minimal_pairs)
    attentions = [
        measures.pronoun_attention(weights[:, layer, head], evaluation.minimal_pairs)
        for layer, head in ([(1, 0)] if guided else np.ndindex(2, 8))
    ]
    referents = [each.referent for each in attentions]
    assert snapshot.measures == pytest.approx(
        {
            "loss": np.mean(surprises),
            "exact": measures.exact_match(translator, evaluation.held_out),
            "pronoun": measures.pronoun_accuracy(translator, evaluation.minimal_pairs),
            "referent": max(referents),
            "other": attentions[int(np.argmax(referents))].other,
        },
        abs=1e-5,
    )
    translation = [translator.translate(probe.source) for probe in PROBES]
    assert [text.translation for text in snapshot.texts] == translation
