"""What stands around the attention, put together again by numpy, is what the model went on with."""

import threading

import numpy as np
import pytest
import torch

from attnviz.analysis.norms import handed_over
from attnviz.capture import loading
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import Model
from attnviz.capture.surroundings import Surroundings, surroundings
from attnviz.errors import ModelNotSupported
from attnviz.trace import Block, Floats
from tests.capture.tiny import FAMILIES, SENTENCE, TEXTS, FolderOf, families

TIRED = "The dog did not cross the road as it was too tired."

AT_ONCE = ("gpt_neox", "gptj", "phi")  # attention and feed-forward network are added together
NORMED_AFTER = (
    *("bert", "roberta", "distilbert", "albert", "electra", "bart", "marian", "deberta", "deberta-v2"),
    *("mpnet", "minilm", "minilm-scratch", "translator"),
)


def put_together(block: Block, around: Surroundings) -> Floats:
    """Σⱼ αᵢⱼ f(xⱼ) + b_O + xᵢ, and the layer norm if one follows, token by token."""
    rows = []
    for query in range(len(block.query_tokens)):
        whole = handed_over(block, query).sum(axis=(0, 1)) + around.bias + around.residual[query]
        if around.gain is not None and around.deviation is not None and around.shift is not None:
            whole = (whole - whole.mean()) / around.deviation[query] * around.gain + around.shift
        rows.append(whole)
    return np.array(rows)


PUT_TOGETHER = tuple(family for family in TEXTS if family not in AT_ONCE)


@pytest.mark.parametrize(
    "name",
    ["minilm", "minilm-scratch", "translator", *families("surroundings", PUT_TOGETHER)],
)
def test_a_layer_is_put_together_again(name: str, folder_of: FolderOf) -> None:
    text, model = TIRED, None
    if name in FAMILIES:
        text, model = SENTENCE, loading.load(str(folder_of(name)))
    model = model or loading.load(name)
    found = surroundings(model, text)
    trace = model.trace(text)
    blocks = trace.of_kind(trace.blocks[0].kind)
    assert len(found) == len(blocks)
    for block, around in zip(blocks, found, strict=True):
        np.testing.assert_allclose(put_together(block, around), around.output, atol=1e-5, rtol=1e-5)
        assert (around.gain is not None) == (name in NORMED_AFTER)


def test_gpt2_norms_before_and_adds_what_it_was_given(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("gpt2")))
    assert isinstance(model, HuggingFaceModel)
    ids = torch.tensor([[token.id for token in model.tokens(SENTENCE)]])
    with torch.inference_mode():
        states = model.network(ids, output_hidden_states=True).hidden_states
    for around, residual in zip(surroundings(model, SENTENCE), states, strict=False):
        np.testing.assert_allclose(around.residual, residual[0].numpy(), atol=1e-6)
        assert around.gain is around.shift is around.deviation is None


@pytest.mark.parametrize("family", families("surroundings", AT_ONCE))
def test_what_cannot_be_put_together_is_refused_by_name(family: str, folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match=r"layer 1 of .*ForCausalLM.*feed-forward"):
        surroundings(loading.load(str(folder_of(family))), SENTENCE)


def test_a_model_that_sees_pictures_has_none(folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match="reads no words"):
        surroundings(loading.load(str(folder_of("vit"))), SENTENCE)


def test_other_threads_are_not_heard(minilm: Model) -> None:
    stop = threading.Event()

    def read_something_else() -> None:
        while not stop.is_set():
            minilm.trace("A cat sat on the old red chair near the window all day long.")

    alone = surroundings(minilm, TIRED)
    other = threading.Thread(target=read_something_else)
    other.start()
    try:
        for around, expected in zip(surroundings(minilm, TIRED), alone, strict=True):
            np.testing.assert_array_equal(around.output, expected.output)
    finally:
        stop.set()
        other.join()
