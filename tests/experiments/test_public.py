"""The public experiment functions: model objects and folders, tokens by number and text, and errors."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForCausalLM

import attnviz
from attnviz import experiments
from attnviz.analysis.rollout import rollout
from attnviz.errors import AttnvizError, InvalidTrace
from attnviz.experiments.pairs import EXAMPLE
from tests.capture.reference import reference_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf

RELATIONS = "The dog did not cross the road .\n  object road>cross; determiner the#1>dog"


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (
            lambda **model: experiments.ablate(SENTENCE, place=2, **model),
            lambda found: found.distances.expected,
        ),
        (
            lambda **model: experiments.find(SENTENCE, place=2, within=RELATIONS, **model),
            lambda found: np.array([near.similarity for near in found.nearest]),
        ),
        (
            lambda **model: experiments.gradients(SENTENCE, place=3, **model),
            lambda found: found.input_x_gradient,
        ),
        (
            lambda **model: experiments.occlusion(SENTENCE, place=3, **model),
            lambda found: found.cosine_change,
        ),
        (
            lambda **model: experiments.score_heads("object to verb", examples=RELATIONS, **model),
            lambda found: found.weight,
        ),
    ],
    ids=experiments.__all__,
)
def test_object_gives_the_same_result_as_its_folder(
    call: Callable[..., Any], numbers: Callable[[Any], Any], folder_of: FolderOf
) -> None:
    folder = folder_of("gpt2")
    folder_result = numbers(call(model=folder))
    network = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    object_result = numbers(call(model=network, tokenizer=reference_tokenizer(folder)))
    assert folder_result.size
    np.testing.assert_allclose(object_result, folder_result, atol=1e-6)


def test_heads_are_scored_only_in_layers_with_attention_weights(folder_of: FolderOf) -> None:
    model = folder_of("lfm2")
    for test, examples in (("object to verb", RELATIONS), ("previous token", SENTENCE)):
        scores = experiments.score_heads(test, model=model, examples=examples)
        assert np.isfinite(scores.mean).all(axis=1).tolist() == [False, True, False, True]
    found = experiments.ablate(SENTENCE, model=model)
    assert sorted({edit.layer for edit in found.ablated}) == [1, 3]
    with pytest.raises(AttnvizError, match=r"Layer 1 of .* is a convolution"):
        experiments.find(SENTENCE, place=2, layer=0, model=model, within=SENTENCE)
    with pytest.raises(InvalidTrace, match="none in layers 1 and 3: a convolution"):
        rollout(attnviz.trace(SENTENCE, model))


TIRED = "The dog did not cross the road as it was too tired."


@pytest.mark.parametrize(
    "call",
    [
        lambda place: experiments.find(TIRED, place=place, layer=3, head=1).nearest[0].similarity,
        lambda place: experiments.gradients("The dog slept.", place=place).input_gradient,
        lambda place: experiments.occlusion("The dog slept.", place=place).cosine_change,
        lambda place: attnviz.decomposition("The dog slept.", place=place).output,
        lambda place: attnviz.patching(TIRED, TIRED.replace("tired", "narrow"), place=place).shares,
        lambda place: attnviz.trace(TIRED).block(layer=3).row(1, place),
        lambda place: attnviz.trace(TIRED, queries=place).stack(),
    ],
    ids=["find", "gradients", "occlusion", "decomposition", "patching", "row", "queries"],
)
def test_token_can_be_given_by_number_or_text(call: Callable[[int | str], Any]) -> None:
    assert np.array_equal(call("dog"), call(2))
    for text, message in (("cat", "There is no token 'cat'"), ("[CLS] ", "There is no token")):
        with pytest.raises(InvalidTrace, match=re.escape(message)):
            call(text)


def test_repeated_text_is_refused_with_its_positions(folder_of: FolderOf) -> None:
    block = attnviz.trace(TIRED).block(layer=0)
    for call in (lambda: block.row(0, "the"), lambda: attnviz.show(attnviz.trace(TIRED), query="the")):
        with pytest.raises(InvalidTrace, match=r"'the' is at 1 and 6\. Pass one of these numbers as query\."):
            call()
    pieces = attnviz.trace("The unfathomable dog").block(layer=0)
    with pytest.raises(InvalidTrace, match="'unfathomable' is at 2, 3"):
        pieces.row(0, "unfathomable")
    place = attnviz.predictions(SENTENCE, folder_of("gpt2"))[2].position
    word = SENTENCE.split()[place]
    by_text, by_number = (
        experiments.ablate(SENTENCE, folder_of("gpt2"), place=each) for each in (word, place)
    )
    assert np.array_equal(by_text.distances.cosine_change, by_number.distances.cosine_change)


def test_experiments_run_in_the_given_dtype(folder_of: FolderOf) -> None:
    folder = folder_of("gpt2")
    dtypes = ("float32", "bfloat16")
    occlusions = [experiments.occlusion(SENTENCE, folder, 3, dtype=dtype, device="cpu") for dtype in dtypes]
    assert 0 < np.abs(occlusions[0].cosine_change - occlusions[1].cosine_change).max() < 0.5
    scores = [experiments.score_heads("previous token", folder, SENTENCE, dtype=dtype) for dtype in dtypes]
    assert 0 < np.abs(scores[0].mean - scores[1].mean).max() < 0.5
    with pytest.raises(AttnvizError, match="runs in bfloat16, which rounds too much"):
        attnviz.decomposition(SENTENCE, folder_of("gpt2"), place=3, dtype="bfloat16")


def test_invalid_token_or_method_is_refused(folder_of: FolderOf) -> None:
    for call in (experiments.gradients, experiments.occlusion):
        with pytest.raises(InvalidTrace, match="There is no token 6: counted from 0, the last one is 5"):
            call("The dog slept.", place=6)
    with pytest.raises(AttnvizError, match=r"'mask vector'.*mean vector, deleted"):
        experiments.occlusion(SENTENCE, folder_of("gpt2"), method="mask vector")
    for model, place in (("minilm", 1), (folder_of("gpt2"), 99), (folder_of("gpt2"), -1)):
        with pytest.raises(AttnvizError, match=f"has no prediction at token {place}, counted from 0"):
            experiments.ablate(SENTENCE, model, place)


@pytest.mark.parametrize(
    ("call", "numbers"), [(experiments.gradients, "input_gradient"), (experiments.occlusion, "cosine_change")]
)
def test_token_ids_equal_their_text(call: Callable[..., Any], numbers: str, folder_of: FolderOf) -> None:
    encoded = reference_tokenizer(folder_of("bert"))(SENTENCE)
    from_tokens, from_text = (getattr(call(each, folder_of("bert")), numbers) for each in (encoded, SENTENCE))
    assert np.array_equal(from_tokens, from_text)
    with pytest.raises(AttnvizError, match="reads a text, not token ids"):
        call([1, 2], "translator")


def test_invalid_examples_are_refused() -> None:
    with pytest.raises(TypeError, match="examples must be one str, not list"):
        experiments.score_heads("pronoun to noun", examples=[EXAMPLE])  # type: ignore[arg-type]
    with pytest.raises(AttnvizError, match="Line 1: there is no sentence above these relations"):
        experiments.score_heads("object to verb", examples="  object road>cross")
    with pytest.raises(AttnvizError, match=r"There is no sentence in “the examples”"):
        experiments.score_heads("next token", examples="")
    with pytest.raises(AttnvizError, match="“dance” is not a test of heads"):
        experiments.score_heads("dance")
