import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

from attnviz.capture import loading
from attnviz.capture.generation import MOST_CANDIDATES, masked_tokens, next_tokens, write
from attnviz.capture.given import Given, Prediction, Writing
from attnviz.models.tokenizer import TextTokenizer
from tests.capture.tiny import tiny

HEADS: dict[str, Any] = {
    "gpt2": AutoModelForCausalLM,
    "bart": AutoModelForSeq2SeqLM,
    "t5": AutoModelForSeq2SeqLM,
    "bert": AutoModelForMaskedLM,
    "roberta": AutoModelForMaskedLM,
}
TEXT = "The dog did not cross the road"


class Opened(NamedTuple):
    network: Any
    tokenizer: TextTokenizer

    def probabilities(self, inputs: dict[str, Tensor]) -> Tensor:
        """[token, vocabulary], by transformers itself."""
        with torch.inference_mode():
            scores: Tensor = self.network(**inputs).logits[0]
        return scores.softmax(-1)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Opened]:
    """Tiny models with their heads and tokenizers."""

    def one(family: str) -> Opened:
        folder: Path = tiny(family, tmp_path_factory.mktemp(family))
        network = HEADS[family].from_pretrained(
            folder, attn_implementation="eager", local_files_only=True, use_safetensors=True
        )
        return Opened(network.eval(), TextTokenizer(folder, 61))

    return {family: one(family) for family in HEADS}


def inputs_of(model: Opened, text: str = TEXT) -> dict[str, Tensor]:
    ids = torch.tensor([model.tokenizer.tokenized(text).ids])
    if model.network.config.is_encoder_decoder:
        return {"input_ids": ids, "decoder_input_ids": torch.tensor([[2, 11, 7, 13, 5]])}
    return {"input_ids": ids}


def read_ids(inputs: dict[str, Tensor]) -> list[int]:
    ids: list[int] = inputs.get("decoder_input_ids", inputs["input_ids"])[0].tolist()
    return ids


def check(prediction: Prediction, expected: Tensor, tokenizer: TextTokenizer) -> None:
    """Its candidates are the likeliest, with their probabilities, in order."""
    best = expected.topk(MOST_CANDIDATES)
    assert [candidate.id for candidate in prediction.candidates] == best.indices.tolist()
    assert [c.probability for c in prediction.candidates] == pytest.approx(best.values.tolist(), abs=1e-6)
    assert [c.text for c in prediction.candidates] == [
        tokenizer.readable(number) for number in best.indices.tolist()
    ]


@pytest.mark.parametrize("family", ["gpt2", "bart", "t5"])
def test_what_follows_is_the_softmax_of_the_models_scores(opened: dict[str, Opened], family: str) -> None:
    model = opened[family]
    inputs = inputs_of(model)
    ids, expected = read_ids(inputs), model.probabilities(inputs)
    found = next_tokens(model.network, model.tokenizer, inputs)
    assert [prediction.position for prediction in found] == [*range(len(ids))]
    assert {prediction.expects for prediction in found} == {"next"}
    for prediction, probabilities in zip(found, expected, strict=True):
        check(prediction, probabilities, model.tokenizer)
        assert all(candidate.share == candidate.probability for candidate in prediction.candidates)
    assert found[-1].actual is None
    for prediction, following in zip(found[:-1], ids[1:], strict=True):
        actual = prediction.actual
        assert actual is not None
        assert (actual.id, actual.text) == (following, model.tokenizer.readable(following))
        assert (
            actual.probability
            == actual.share
            == pytest.approx(float(expected[prediction.position, following]))
        )


@pytest.mark.parametrize("family", ["gpt2", "bart"])
def test_what_was_written_tells_by_which_share_it_was_drawn(opened: dict[str, Opened], family: str) -> None:
    model = opened[family]
    inputs, writing = inputs_of(model), Writing(5, temperature=0.7, top_k=7, top_p=0.9, seed=1)
    ids = read_ids(inputs)
    source = inputs["input_ids"][0].tolist() if "decoder_input_ids" in inputs else None
    steps = list(write(model.network, ids, writing, 61, source))
    name = "input_ids" if source is None else "decoder_input_ids"
    inputs[name] = torch.tensor([[*ids, *(step.id for step in steps)]])
    found = next_tokens(model.network, model.tokenizer, inputs, writing, len(steps))
    assert len(found) == len(ids) + len(steps)
    for prediction, step in zip(found[len(ids) - 1 :], steps, strict=False):
        assert prediction.actual is not None
        assert prediction.actual.id == step.id
        for candidate in (*prediction.candidates, prediction.actual):
            assert candidate.probability == pytest.approx(float(step.before[candidate.id]), abs=1e-5)
            assert candidate.share == pytest.approx(float(step.after[candidate.id]), abs=1e-5)
        assert sum(candidate.share for candidate in prediction.candidates) == pytest.approx(1, abs=1e-5)
    for prediction in (*found[: len(ids) - 1], found[-1]):  # nothing was drawn there
        assert all(candidate.share == candidate.probability for candidate in prediction.candidates)


def test_the_end_of_a_text_is_told_although_nobody_reads_it(opened: dict[str, Opened]) -> None:
    model = opened["bart"]
    inputs, end = inputs_of(model), 2
    for writing, written in ((None, 0), (Writing(5, temperature=2.0), 3), (Writing(5, temperature=2.0), 0)):
        *before, last = next_tokens(model.network, model.tokenizer, inputs, writing, written, end)
        expected = model.probabilities(inputs)[-1]
        assert [prediction.actual and prediction.actual.id for prediction in before] == read_ids(inputs)[1:]
        assert last.actual is not None
        assert (last.actual.id, last.actual.text) == (end, "</s>")
        assert last.actual.probability == pytest.approx(float(expected[end]), abs=1e-6)
        share = expected[end] if writing is None else (expected.log() / 2).softmax(-1)[end]
        assert last.actual.share == pytest.approx(float(share), abs=1e-6)


def test_the_likeliest_token_is_taken_with_certainty(opened: dict[str, Opened]) -> None:
    model = opened["gpt2"]
    ids = read_ids(inputs_of(model))
    step = next(write(model.network, ids, Writing(1), 61))
    inputs = {"input_ids": torch.tensor([[*ids, step.id]])}
    found = next_tokens(model.network, model.tokenizer, inputs, Writing(1), 1)[len(ids) - 1]
    assert found.actual == found.candidates[0]
    assert [candidate.share for candidate in found.candidates] == [1, *[0] * (MOST_CANDIDATES - 1)]
    assert found.candidates[0].probability < 1


@pytest.mark.parametrize(("family", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_masked_tokens_are_the_softmax_at_their_places(
    opened: dict[str, Opened], family: str, mask: str
) -> None:
    model = opened[family]
    assert model.tokenizer.mask == mask
    inputs = inputs_of(model, f"The {mask} did not {mask} the road")
    expected = model.probabilities(inputs)
    found = masked_tokens(model.network, model.tokenizer, inputs)
    assert [prediction.position for prediction in found] == [2, 5]
    for prediction in found:
        check(prediction, expected[prediction.position], model.tokenizer)
        assert prediction.expects == "masked"
        assert prediction.actual is None
        assert all(candidate.share == candidate.probability for candidate in prediction.candidates)
        assert all(one.probability >= other.probability for one, other in pairwise(prediction.candidates))


def test_nothing_masked_nothing_expected(opened: dict[str, Opened]) -> None:
    assert masked_tokens(None, opened["bert"].tokenizer, inputs_of(opened["bert"])) == ()
    assert masked_tokens(None, opened["gpt2"].tokenizer, inputs_of(opened["gpt2"])) == ()


def test_the_second_sentence_of_a_pair_is_read_as_such(opened: dict[str, Opened]) -> None:
    model = opened["bert"]
    pair = model.tokenizer.tokenized("The dog", "The [MASK] did not")
    assert set(pair.type_ids) == {0, 1}
    inputs = {"input_ids": torch.tensor([pair.ids]), "token_type_ids": torch.tensor([pair.type_ids])}
    [prediction] = masked_tokens(model.network, model.tokenizer, inputs)
    check(prediction, model.probabilities(inputs)[prediction.position], model.tokenizer)
    [other] = masked_tokens(model.network, model.tokenizer, {"input_ids": inputs["input_ids"]})
    assert prediction.candidates != other.candidates


def test_the_loaded_model_tells_the_end_of_what_was_typed_and_written(tmp_path: Path) -> None:
    """Through the door that pages use: the end token is expected, and never read."""
    name = str(tiny("bart", tmp_path / "typed"))
    typed = loading.load(name).predictions(Given(TEXT, target="The dog"))
    assert [prediction.actual and prediction.actual.text for prediction in typed] == [
        "<s>",
        "The",
        "dog",
        "</s>",
    ]

    folder = tiny("gpt2", tmp_path / "written")
    given = Given(TEXT, writing=Writing(7, 2.0, seed=1))

    def written() -> list[int]:
        told = [each.actual for each in loading.load(str(folder)).predictions(given)]
        return [actual.id for actual in told[len(TEXT.split()) - 1 :] if actual is not None]

    free = written()
    assert free[4] not in free[:4]
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": free[4]}), "utf-8")
    assert written() == free[:5]
    assert loading.trace(str(folder), given).written == 4
