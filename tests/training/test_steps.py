"""The stored snapshots have the steps and settings of the training program."""

import pytest

from attnviz.trained.snapshots import STORED, stored
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator.evaluation import Evaluation
from attnviz.trained.translator.training import Settings
from training.steps import SENTENCES, metadata, storyteller_steps, translator_steps


@pytest.mark.parametrize("variant", STORED)
def test_the_stored_steps_and_settings_equal_the_program(variant: str) -> None:
    found = stored(variant)
    chosen = storyteller_steps if variant in SIZES else translator_steps
    assert found.steps == chosen(found.steps[-1])
    if variant not in SIZES:
        assert found.about == metadata(Settings.of(variant), Evaluation.of(SENTENCES))
