"""The stored figures, and training programs that run a few steps."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from attnviz.trained.translator import splits
from attnviz.trained.translator.training import Settings
from attnviz.trained.translator.translator import Sizes, Translator
from attnviz.trained.translator.variants import VARIANTS
from training import figures, translators
from training.translator_measures import familiarity, measure

SIZES = Sizes(d_model=12, n_heads=3, d_feed_forward=7)


def test_writing_a_record_replaces_only_the_record_of_the_same_training(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    for variant, seed, found in [("b", "1", 0), ("a", "2", 1), ("a", "0", 2), ("a", "2", 3)]:
        figures.write(file, {"variant": variant, "seed": seed, "found": found}, ["a", "b"])
    stored = json.loads(file.read_text("utf-8"))
    assert [(each["variant"], each["seed"], each["found"]) for each in stored] == [
        ("a", "0", 2),
        ("a", "2", 3),
        ("b", "1", 0),
    ]


def test_a_translator_is_trained_saved_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Settings.of

    def short_training(variant: str, seed: int | None = None) -> Settings:
        return replace(of(variant, seed), steps=6, warm_up=2, sentences=100, batch=16, sizes=SIZES)

    monkeypatch.setattr(translators, "Settings", type("Short", (), {"of": staticmethod(short_training)}))
    monkeypatch.setattr(translators, "measure", lambda translator: measure(translator, sentences=4, pairs=3))
    monkeypatch.setattr(translators, "WEIGHTS", tmp_path)
    monkeypatch.setattr("attnviz.trained.translator.variants.WEIGHTS", tmp_path)
    # After six steps a model never predicts [END]; without this limit it would generate thirty words.
    monkeypatch.setattr("attnviz.trained.translator.translator.max_translation_words", lambda _source: 3)
    translators.main(["unguided"])
    runs = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert [(run["variant"], run["seed"], run["shipped"]) for run in runs] == [
        ("unguided", "0", False),
        ("unguided", "1", True),
        ("unguided", "2", False),
    ]
    saved = Translator.load(VARIANTS["unguided"].file)
    assert (saved.about["variant"], saved.about["seed"], saved.about["steps"]) == ("unguided", "1", "6")
    assert runs[1].items() >= asdict(measure(saved, sentences=4, pairs=3)).items()
    assert runs[1]["familiarity"] == asdict(familiarity(splits.training(100, seed=1)))
