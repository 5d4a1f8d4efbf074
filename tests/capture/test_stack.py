"""Layers that read word vectors: the same outputs as from the words, and what is expected of a place."""

import numpy as np
import pytest
import torch

from attnviz.capture import loading
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import OCCLUSION_METHODS
from attnviz.capture.pictures import VisionModel
from attnviz.capture.stack import expected, stack_of
from attnviz.errors import ModelNotSupported
from attnviz.models import resolve
from attnviz.models.families import TEXT_TOWERS
from attnviz.trained.storyteller.sizes import SIZES
from tests.capture.sentences import TIRED, text_for
from tests.capture.tiny import FAMILIES, SENTENCE, TEXTS, FolderOf, families

# CLIP's and SigLIP's halves for texts take no word vectors.
TAKE_WORD_VECTORS = tuple(family for family in TEXTS if family not in TEXT_TOWERS)


@pytest.mark.parametrize(
    "name",
    [
        "minilm",
        "minilm-scratch",
        "translator",
        *SIZES,
        *families("word vectors", TAKE_WORD_VECTORS),
    ],
)
def test_the_weights_are_those_of_the_trace(name: str, folder_of: FolderOf) -> None:
    text, name = (SENTENCE, str(folder_of(name))) if name in FAMILIES else (text_for(name), name)
    model, entry = loading.load(name), resolve.entry(name)
    stack = stack_of(model, text)
    with torch.inference_mode():
        ran = stack.run(stack.words[None])
    np.testing.assert_allclose(
        np.stack([weights[0].numpy() for weights in ran.weights]),
        model.trace(text).stack(entry.kinds[0]),
        atol=1e-6,
    )
    assert ran.output.shape == (1, len(stack.tokens), entry.d_model)


def test_both_bundled_berts_put_out_the_same() -> None:
    one, other = (stack_of(loading.load(name), TIRED) for name in ("minilm", "minilm-scratch"))
    with torch.inference_mode():
        outputs = [stack.run(stack.words[None]).output for stack in (one, other)]
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=0)
    assert one.occlusion_methods == other.occlusion_methods == OCCLUSION_METHODS
    for way, vector in one.replacements.items():
        torch.testing.assert_close(vector, other.replacements[way])
    assert [stack.mask_token for stack in (one, other)] == ["[MASK]"] * 2


def test_a_decoder_expects_the_token_that_follows(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("gpt2")))
    stack, predictions = stack_of(model, SENTENCE), model.predictions(SENTENCE)
    for place, prediction in enumerate(predictions):
        found = expected(stack, place)
        assert found is not None
        candidate = prediction.actual or prediction.candidates[0]
        assert (found.id, found.kind, found.actual) == (candidate.id, "next", prediction.actual is not None)
        assert found.probability == pytest.approx(candidate.probability, abs=1e-6)
    assert stack.occlusion_methods == ("mean vector", "deleted")


def test_bert_expects_something_where_a_token_is_masked_alone(folder_of: FolderOf) -> None:
    model, text = loading.load(str(folder_of("bert"))), "The dog did not [MASK] the road ."
    stack, [prediction] = stack_of(model, text), model.predictions(text)
    found = expected(stack, prediction.position)
    assert found is not None
    assert (found.id, found.kind, found.actual) == (prediction.candidates[0].id, "masked", False)
    assert found.probability == pytest.approx(prediction.candidates[0].probability, abs=1e-6)
    assert expected(stack, prediction.position - 1) is None


def test_a_model_without_a_head_expects_nothing() -> None:
    assert expected(stack_of(loading.load("minilm"), TIRED), 3) is None
    assert expected(stack_of(loading.load("translator"), TIRED), 3) is None


def test_a_model_that_sees_pictures_has_no_words(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("vit")))
    assert isinstance(model, VisionModel)
    with pytest.raises(ModelNotSupported, match="reads no text"):
        stack_of(model, SENTENCE)


def test_what_makes_something_else_of_vectors_is_refused(
    folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loading.load(str(folder_of("bert")))
    assert isinstance(model, HuggingFaceModel)
    network, forward = model.network, model.network.forward

    def other(**given: torch.Tensor) -> object:
        vectors = given.get("inputs_embeds")
        return forward(**{**given, "inputs_embeds": 2 * vectors} if vectors is not None else given)

    monkeypatch.setattr(network, "forward", other)
    with pytest.raises(ModelNotSupported, match="computes different outputs from word embeddings"):
        stack_of(model, SENTENCE)

    def without(input_ids: torch.Tensor, **more: bool) -> object:
        return forward(input_ids=input_ids, **more)

    monkeypatch.setattr(network, "forward", without)
    with pytest.raises(ModelNotSupported, match="does not accept word embeddings"):
        stack_of(model, SENTENCE)
