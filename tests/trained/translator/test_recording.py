"""What is seen of a model in training is what the model does: computed here once more, the slow way."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.trained.translator import learning, measures, splits
from attnviz.trained.translator.learning import PROBES, Learning, Snapshot
from attnviz.trained.translator.recording import Examination, about, glance, watch
from attnviz.trained.translator.training import Settings, train
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.trained.translator.variants import VARIANTS
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END

TINY = Sizes(d_model=12, n_heads=2, d_feed_forward=7)
SETTINGS = replace(Settings.live("taught", seed=5), steps=6, sentences=300, batch=32, sizes=TINY)
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


def test_the_sentences_are_held_out_and_as_many_as_asked_for(examination: Examination) -> None:
    assert len(examination.held_out) == len(examination.minimal_pairs) == SIZE
    expected = [pair for split in splits.SPLITS for pair in splits.held_out(split, SIZE // 3, seed=0)]
    assert list(examination.held_out) == expected
    assert [pair.source[-1] for pair in examination.minimal_pairs]
    assert all(pair.pronoun and pair.pronoun.other is not None for pair in examination.minimal_pairs)


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
    assert end.measures == examination.snapshot(last.translator(), 6).measures


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
        (
            np.mean(surprises),
            measures.exact_match(translator, examination.held_out),
            measures.pronoun_accuracy(translator, examination.minimal_pairs),
            looks.referent,
            looks.other,
        ),
        abs=1e-5,
    )
    said = [translator.translate(probe.source) for probe in examination.probes]
    assert [seen.said for seen in snapshot.glances] == said


def test_a_glance_holds_the_weights_to_the_thousandth() -> None:
    translator, probe = Translator(build(TINY, 3), TINY, {}), PROBES[1]
    seen = glance(translator, probe, ("le", "chien"))
    steps = translator.steps(probe.source, probe.target)
    layers = {
        "encoder": [layer.attention for layer in steps.encoder.layers],
        "decoder": [layer.attention for layer in steps.decoder.layers],
        "cross": [layer.cross_attention for layer in steps.decoder.layers],
    }
    assert seen.weights.keys() == layers.keys()
    for kind in ("encoder", "decoder", "cross"):
        own = np.stack([layer.attention.weights.numpy() for layer in layers[kind]])
        np.testing.assert_allclose(seen.shares(kind), own, atol=0.5001e-3)
    probabilities = steps.probabilities[probe.pronoun]
    assert seen.il / 1000 == pytest.approx(float(probabilities[FRENCH.ids(["il"])]), abs=0.501e-3)
    assert seen.elle / 1000 == pytest.approx(float(probabilities[FRENCH.ids(["elle"])]), abs=0.501e-3)
    assert seen.said == ("le", "chien")


def test_the_file_says_how_it_was_made(examination: Examination) -> None:
    told = about(SETTINGS, examination)
    parameters = sum(parameter.numel() for parameter in build(TINY, 0).parameters())
    assert told["parameters"] == str(parameters)
    assert (told["seed"], told["batch"], told["held out"]) == ("5", "32", str(SIZE))


@pytest.fixture(scope="module", params=learning.stored())
def shipped(request: pytest.FixtureRequest) -> Learning:
    return learning.shipped(request.param)


def test_the_last_stored_step_is_the_shipped_model(shipped: Learning) -> None:
    translator = Translator.load(VARIANTS[shipped.about["variant"]].file)
    assert translator.about["steps"] == str(shipped.steps[-1])
    for probe, stored in zip(shipped.probes, shipped.snapshots[-1].glances, strict=True):
        own = glance(translator, probe, translator.translate(probe.source))
        assert stored.said == own.said == probe.target
        for kind, weights in stored.weights.items():
            # Another machine may round the last bit otherwise.
            np.testing.assert_allclose(weights, own.weights[kind], atol=1)


def test_the_stored_probes_are_those_of_a_live_training(shipped: Learning) -> None:
    assert shipped.probes == PROBES


def test_the_first_stored_step_knows_nothing(shipped: Learning) -> None:
    first, last = shipped.snapshots[0], shipped.snapshots[-1]
    assert first.step == 0
    assert first.measures.exact == 0
    assert first.measures.loss > np.log(len(FRENCH)) - 1 > last.measures.loss
    assert shipped.steps == learning.stored_steps(last.step)


def test_a_stored_training_leads_from_chance_to_the_right_pronoun(shipped: Learning) -> None:
    first, last = shipped.snapshots[0].measures, shipped.snapshots[-1].measures
    assert first.pronoun == pytest.approx(0.5, abs=0.05)
    assert last.pronoun > 0.98
    assert last.exact > 0.97
    assert last.referent > 0.95
    assert last.other < 0.05
