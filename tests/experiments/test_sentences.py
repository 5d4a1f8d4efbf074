"""Reading many sentences: an encoder's weights are the same, whatever its decoder was given to read."""

from pathlib import Path

import numpy as np
import pytest

from attnviz.capture import loading
from attnviz.errors import ModelNotSupported
from attnviz.experiments.sentences import reader, self_attention
from attnviz.models.catalogue import Entry
from tests.capture.tiny import SENTENCE, tiny


def opened(family: str, folder: Path) -> Entry:
    return loading.open_model(str(tiny(family, folder / family)))


def test_an_encoder_needs_no_decoder_that_writes(tmp_path: Path) -> None:
    entry = opened("marian", tmp_path)
    model = loading.load(entry.name)
    assert self_attention(entry) == "encoder"
    np.testing.assert_array_equal(
        reader(entry, model)(SENTENCE).stack("encoder"), model.trace(SENTENCE).stack("encoder")
    )


def test_a_decoder_alone_is_asked_for_its_own_attention(tmp_path: Path) -> None:
    assert self_attention(opened("gpt2", tmp_path)) == "decoder"


def test_a_model_that_sees_pictures_reads_no_sentences(tmp_path: Path) -> None:
    with pytest.raises(ModelNotSupported, match="does not read text"):
        self_attention(opened("vit", tmp_path))
