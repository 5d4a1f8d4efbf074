"""Stored steps: what is written is read, and the shipped files have the steps of the programs."""

from pathlib import Path

import pytest

from attnviz.trained import snapshots
from attnviz.trained.snapshots import STORED, stored
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator import translator
from attnviz.trained.translator.examination import Examination
from attnviz.trained.translator.training import Settings
from tests.trained.made_up import of_storyteller, of_translator, same
from training.steps import (
    SENTENCES,
    about,
    storyteller_steps,
    translator_steps,
    write_storyteller,
    write_translator,
)


@pytest.mark.parametrize("variant", ["guided", "storyteller"])
def test_what_is_written_is_read_and_the_same_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    how = {"variant": variant, "seed": "3"}
    made = [(of_storyteller if variant in SIZES else of_translator)(step) for step in (0, 25, 300)]
    files = [tmp_path / f"{name}.npz" for name in "ab"]
    for file in files:
        if variant in SIZES:
            write_storyteller(how, made, file)
        else:
            write_translator(how, Examination.of(6), made, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    monkeypatch.setattr(snapshots, "file_of", lambda _: files[0])
    read = snapshots.stored.__wrapped__(variant)
    assert read.about == how
    assert read.steps == (0, 25, 300)
    assert all(same(one, other) for one, other in zip(made, read.snapshots, strict=True))
    assert not read.snapshots[1].texts[0].weights["decoder"].flags.writeable


@pytest.mark.parametrize("variant", STORED)
def test_the_stored_steps_and_settings_are_those_of_the_program(variant: str) -> None:
    found = stored(variant)
    chosen = storyteller_steps if variant in SIZES else translator_steps
    assert found.steps == chosen(found.steps[-1])
    if variant not in SIZES:
        settings = Settings.of(variant)
        expected = about(settings, Examination.of(SENTENCES))
        assert found.about.items() >= expected.items()
        parameters = translator.build(settings.sizes, 0).parameters()
        assert expected["parameters"] == str(sum(parameter.numel() for parameter in parameters))
