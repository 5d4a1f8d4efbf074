"""Outputs of layers for word embeddings equal the outputs for the text; the token expected at a position."""

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

# The text parts of CLIP and SigLIP do not accept word embeddings.
ACCEPT_EMBEDDINGS = tuple(family for family in TEXTS if family not in TEXT_TOWERS)


@pytest.mark.parametrize(
    "name", ["minilm", "minilm-scratch", "translator", *SIZES, *families("word vectors", ACCEPT_EMBEDDINGS)]
)
def test_weights_equal_the_trace(name: str, folder_of: FolderOf) -> None:
    text, name = (SENTENCE, str(folder_of(name))) if name in FAMILIES else (text_for(name), name)
    model, entry = loading.load(name), resolve.entry(name)
    stack = stack_of(model, text)
    with torch.inference_mode():
        outputs = stack.run(stack.words[None])
    np.testing.assert_allclose(
        np.stack([weights[0].numpy() for weights in outputs.weights]),
        model.trace(text).stack(entry.kinds[0]),
        atol=2e-6,  # the number of threads changes the order of sums
    )
    assert outputs.output.shape == (1, len(stack.tokens), entry.d_model)


def test_both_bundled_berts_give_the_same_outputs() -> None:
    one, other = (stack_of(loading.load(name), TIRED) for name in ("minilm", "minilm-scratch"))
    with torch.inference_mode():
        outputs = [stack.run(stack.words[None]).output for stack in (one, other)]
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=0)
    assert one.occlusion_methods == other.occlusion_methods == OCCLUSION_METHODS
    for method, vector in one.replacements.items():
        torch.testing.assert_close(vector, other.replacements[method])
    assert [stack.mask_token for stack in (one, other)] == ["[MASK]"] * 2


def test_decoder_expects_the_next_token(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("gpt2")))
    stack, predictions = stack_of(model, SENTENCE), model.predictions(SENTENCE)
    for place, prediction in enumerate(predictions):
        found = expected(stack, place)
        assert found is not None
        candidate = prediction.actual or prediction.candidates[0]
        assert (found.id, found.kind, found.actual) == (candidate.id, "next", prediction.actual is not None)
        assert found.probability == pytest.approx(candidate.probability, abs=1e-6)
    assert stack.occlusion_methods == ("mean vector", "deleted")


def test_bert_expects_a_token_only_at_a_mask(folder_of: FolderOf) -> None:
    model, text = loading.load(str(folder_of("bert"))), "The dog did not [MASK] the road ."
    stack, [prediction] = stack_of(model, text), model.predictions(text)
    found = expected(stack, prediction.position)
    assert found is not None
    assert (found.id, found.kind, found.actual) == (prediction.candidates[0].id, "masked", False)
    assert found.probability == pytest.approx(prediction.candidates[0].probability, abs=1e-6)
    assert expected(stack, prediction.position - 1) is None


def test_model_without_a_head_expects_no_token() -> None:
    assert expected(stack_of(loading.load("minilm"), TIRED), 3) is None
    assert expected(stack_of(loading.load("translator"), TIRED), 3) is None


def test_vision_model_is_refused(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("vit")))
    assert isinstance(model, VisionModel)
    with pytest.raises(ModelNotSupported, match="does not read text"):
        stack_of(model, SENTENCE)


def test_model_with_other_embeddings_is_refused(folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    model = loading.load(str(folder_of("bert")))
    assert isinstance(model, HuggingFaceModel)
    network, forward = model.network, model.network.forward

    def doubled(**inputs: torch.Tensor) -> object:
        vectors = inputs.get("inputs_embeds")
        return forward(**{**inputs, "inputs_embeds": 2 * vectors} if vectors is not None else inputs)

    monkeypatch.setattr(network, "forward", doubled)
    with pytest.raises(ModelNotSupported, match="computes different outputs from word embeddings"):
        stack_of(model, SENTENCE)

    def without_embeddings(input_ids: torch.Tensor, **options: bool) -> object:
        return forward(input_ids=input_ids, **options)

    monkeypatch.setattr(network, "forward", without_embeddings)
    with pytest.raises(ModelNotSupported, match="does not accept word embeddings"):
        stack_of(model, SENTENCE)
