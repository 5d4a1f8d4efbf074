"""The sentences on which a translator in training is watched."""

import pytest

from attnviz.trained.translator import grammar
from attnviz.trained.translator.probes import PROBES, Probe


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: " ".join(probe.source))
def test_a_probe_is_a_sentence_of_the_grammar_and_its_translation_is_right(probe: Probe) -> None:
    places = [probe.it, probe.pronoun, probe.source.index(probe.referent), probe.source.index(probe.other)]
    understood = {(pair.target, pair.pronoun) for pair in grammar.parses(probe.source)}
    assert understood == {(probe.target, grammar.Pronoun(*places))}
