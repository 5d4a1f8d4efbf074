"""What is seen of a model in training is what the model does: computed here once more, the slow way."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.trained.snapshots import Snapshot
from attnviz.trained.translator import measures
from attnviz.trained.translator.examination import Examination, watch
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.training import Settings, train
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END

TINY = Sizes(d_model=12, n_heads=2, d_feed_forward=7)
SETTINGS = replace(Settings.live("guided", 5, 6), sentences=300, batch=32, sizes=TINY)
SIZE = 6

Watched = list[int | Snapshot]


@pytest.fixture(scope="module")
def examination() -> Examination:
    return Examination.of(SIZE, PROBES[:2])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who learned for six steps never says [END], and would be asked for thirty words each time."""
    monkeypatch.setattr("attnviz.trained.translator.translator.longest_translation", lambda _source: 3)


@pytest.fixture
def watched(short: None, examination: Examination) -> Watched:  # noqa: ARG001
    return list(watch(SETTINGS, examination, (0, 4, 6)))


def rounded(translator: Translator) -> Translator:
    translator.model.half().float()
    return translator


def test_every_step_is_told_and_looking_at_some_changes_nothing(
    watched: Watched, examination: Examination
) -> None:
    assert [news if isinstance(news, int) else ("seen", news.step) for news in watched] == [
        *(("seen", 0), 1, 2, 3),
        *(("seen", 4), 5, ("seen", 6)),
    ]
    first, end = watched[0], watched[-1]
    assert isinstance(first, Snapshot)
    assert isinstance(end, Snapshot)
    untrained = Translator(build(TINY, SETTINGS.seed), TINY, {})
    assert first.measures == examination.snapshot(untrained, 0).measures
    *_, last = train(SETTINGS)
    assert end.measures == examination.snapshot(Translator(last.model, TINY, {}), 6).measures


@pytest.mark.usefixtures("short")
def test_a_snapshot_has_the_measures_and_the_translations(examination: Examination) -> None:
    translator = rounded(Translator(build(TINY, 3), TINY, {}))
    snapshot = examination.snapshot(translator, 0)
    surprises = []
    for pair in examination.held_out:
        probabilities = translator.steps(pair.source, pair.target).probabilities
        following = FRENCH.ids([*pair.target, END])
        surprises += [-float(row[word].log()) for row, word in zip(probabilities, following, strict=True)]
    weights = measures.weights_from_it(translator, examination.minimal_pairs)[:, 1, 0]
    looks = measures.reading(weights, examination.minimal_pairs)
    assert snapshot.measures == pytest.approx(
        {
            "loss": np.mean(surprises),
            "exact": measures.exact_match(translator, examination.held_out),
            "pronoun": measures.pronoun_accuracy(translator, examination.minimal_pairs),
            "referent": looks.referent,
            "other": looks.other,
        },
        abs=1e-5,
    )
    translation = [translator.translate(probe.source) for probe in examination.probes]
    assert [seen.translation for seen in snapshot.texts] == translation
