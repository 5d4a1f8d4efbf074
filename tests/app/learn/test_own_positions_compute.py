"""What the Learn page says of a model's own positions: numbers by hand, and the model asked again."""

from pathlib import Path

import numpy as np
import pytest
import torch

from attnviz.app.learn.positions import compute
from attnviz.capture import loading
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.positions import Relative, Table, Turns
from attnviz.capture.recorder import recording
from tests.capture.tiny import SENTENCE, tiny


def floats(rows: list[list[float]]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    array = np.array(rows, np.float32)
    array.setflags(write=False)
    return array


def test_the_lessons_bert_and_the_translator_have_tables_of_ours() -> None:
    [scratch], [minilm] = (compute.positions(name).ways for name in ("minilm-scratch", "minilm"))
    assert isinstance(scratch, Table)
    assert isinstance(minilm, Table)
    np.testing.assert_array_equal(scratch.vectors, minilm.vectors)
    encoder, decoder = compute.positions("translator").ways
    assert isinstance(encoder, Table)
    assert (encoder.part, decoder.part, encoder.learned) == ("encoder", "decoder", False)
    assert encoder.vectors[3, :2] == pytest.approx([np.sin(3), np.cos(3)])


@pytest.mark.parametrize("family", ["llama", "gptj"])
def test_a_moved_key_scores_as_in_a_model_that_is_told_of_the_move(family: str, tmp_path: Path) -> None:
    model = loading.load(str(tiny(family, tmp_path / family)))
    assert isinstance(model, HuggingFaceModel)
    block = model.trace(SENTENCE).block("decoder", 0)
    [turns] = compute.positions(str(tmp_path / family)).ways
    assert isinstance(turns, Turns)
    query, key, head = 7, 3, 2
    found = compute.moved(block, turns, head, query, key)
    assert found.distances.tolist() == [*range(-64, 1)]
    ids = torch.tensor([[token.id for token in block.query_tokens]])
    for distance in (-7, -4, -1, 0):
        places = torch.arange(ids.shape[1])[None]
        places[0, key] = query + distance
        with recording() as records, torch.inference_mode():
            model.network(input_ids=ids, position_ids=places, output_attentions=family == "gptj")
        [score] = records[0].query[0, head, query][None] @ records[0].key[0, head, key] * records[0].scale
        assert found.scores[found.distances == distance][0] == pytest.approx(float(score), abs=1e-4)


def test_patches_are_compared_along_their_rows_and_columns() -> None:
    # Two rows of three patches: those of a row are alike, those of a column are at right angles.
    vectors = floats([[9, 9], [1, 0], [2, 0], [3, 0], [0, 1], [0, 1], [0, 4]])
    found = compute.directions(Table(None, vectors, learned=True, grid=(2, 3)))
    assert found.across.tolist() == pytest.approx([1, 1, 1])
    assert found.down.tolist() == pytest.approx([1, 0])
    with pytest.raises(ValueError, match="no rows"):
        compute.directions(Table(None, vectors, learned=True))


def test_distances_are_compared_with_no_distance() -> None:
    vectors = floats([[0, 2], [3, 0], [1, 1]])
    found = compute.from_here(Relative(None, np.array([-1, 0, 1]), vectors))
    assert found.cosines.tolist() == pytest.approx([0, 1, 0.5**0.5])
