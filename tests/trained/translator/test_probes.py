"""The sentences for which snapshots are taken during training."""

import pytest

from attnviz.trained.translator import grammar
from attnviz.trained.translator.probes import PROBES, Probe


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: " ".join(probe.source))
def test_probe_is_a_correctly_translated_sentence_of_the_grammar(probe: Probe) -> None:
    places = [probe.it, probe.pronoun, probe.source.index(probe.referent), probe.source.index(probe.other)]
    parsed = {(pair.target, pair.pronoun) for pair in grammar.parses(probe.source)}
    assert parsed == {(probe.target, grammar.Pronoun(*places))}
