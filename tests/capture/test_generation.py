"""Predictions and generation, compared with transformers' models and logits warpers."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from attnviz.capture.generation import (
    MAX_CANDIDATES,
    GenerationDefaults,
    generate,
    generation_defaults,
    masked_tokens,
    next_tokens,
    sampling_probabilities,
)
from attnviz.capture.model import Prediction, Writing
from attnviz.capture.network import open_network
from attnviz.errors import AttnvizError
from attnviz.models.tokenizer import TextTokenizer, in_folder
from tests.capture.tiny import FolderOf, families

DECODERS = ("gpt2", "llama", "mistral", "bloom")  # mistral has a sliding window of five tokens
ENCODER_DECODERS = ("bart", "t5", "marian")
WRITERS = families("writing", (*DECODERS, *ENCODER_DECODERS))
FREE = GenerationDefaults(ends=frozenset())
SOURCE, PROMPT = [5, 11, 7, 3, 1], [7, 13, 5]
LIMIT = 61
TEXT = "The dog did not cross the road"


class Opened(NamedTuple):
    """A tiny model run by transformers, and its tokenizer."""

    network: Any
    tokenizer: TextTokenizer

    def probabilities(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return transformers' probabilities [token, vocabulary]."""
        with torch.inference_mode():
            scores: Tensor = self.network(**inputs).logits[0]
        return scores.softmax(-1)


Open = Callable[[str], Opened]


@pytest.fixture(scope="module")
def opened(folder_of: FolderOf) -> Open:
    """A function that opens a tiny model with its head and tokenizer, and removes its end tokens."""

    @cache
    def open_family(family: str) -> Opened:
        auto: Any = AutoModelForCausalLM if family in DECODERS else AutoModelForMaskedLM
        network = (AutoModelForSeq2SeqLM if family in ENCODER_DECODERS else auto).from_pretrained(
            folder_of(family), attn_implementation="eager", local_files_only=True, use_safetensors=True
        )
        return Opened(without_end(network.eval()), in_folder(folder_of(family), LIMIT))

    return open_family


def without_end(network: Any) -> Any:
    if network.can_generate():
        config = network.generation_config
        config.eos_token_id = config.forced_eos_token_id = config.forced_bos_token_id = None
    return network


def start_of(network: Any) -> list[int]:
    """Return the ids that the decoder reads before it generates."""
    return [network.config.decoder_start_token_id] if network.config.is_encoder_decoder else PROMPT


def source_of(network: Any) -> list[int] | None:
    return SOURCE if network.config.is_encoder_decoder else None


def attnviz_ids(network: Any, writing: Writing) -> list[int]:
    return [step.id for step in generate(network, start_of(network), writing, LIMIT, source_of(network))]


def transformers_ids(network: Any, tokens: int) -> list[int]:
    """Return the ids that transformers generates greedily."""
    ids = torch.tensor([source_of(network) or PROMPT])
    output = network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        num_beams=1,
        max_new_tokens=tokens,
        pad_token_id=0,
    )
    output_ids: list[int] = output[0].tolist()
    return output_ids[len(start_of(network)) :]


@pytest.mark.parametrize("family", WRITERS)
def test_greedy_tokens_equal_transformers(folder_of: FolderOf, opened: Open, family: str) -> None:
    """attnviz generates with the recorded network, transformers with `eager`."""
    ours = attnviz_ids(without_end(open_network(folder_of(family))), Writing(13))
    assert len(ours) == 13
    assert (
        ours
        == attnviz_ids(opened(family).network, Writing(13))
        == transformers_ids(opened(family).network, 13)
    )


@pytest.mark.parametrize("family", WRITERS)
def test_cached_steps_have_the_probabilities_of_one_full_pass(opened: Open, family: str) -> None:
    network = opened(family).network
    steps = list(
        generate(network, start_of(network), Writing(7, temperature=1.3, seed=3), LIMIT, source_of(network))
    )
    ids = torch.tensor([[*start_of(network), *(step.id for step in steps)]])
    inputs = {"input_ids": ids}
    if family in ENCODER_DECODERS:
        inputs = {"input_ids": torch.tensor([SOURCE]), "decoder_input_ids": ids}
    with torch.inference_mode():
        scores = network(**inputs, use_cache=False).logits[0, len(start_of(network)) - 1 : -1]
    assert len(steps) == len(scores) == 7
    for step, expected in zip(steps, scores, strict=True):
        torch.testing.assert_close(step.before, expected.softmax(-1), atol=1e-5, rtol=0)
        torch.testing.assert_close(step.after, (expected / 1.3).softmax(-1), atol=1e-5, rtol=0)


def test_sampling_depends_only_on_the_seed(opened: Open) -> None:
    network = opened("gpt2").network
    samples = [tuple(attnviz_ids(network, Writing(13, temperature=2.0, seed=seed))) for seed in (1, 1, 2, 3)]
    assert samples[0] == samples[1]
    assert len(set(samples)) == 3


def test_generation_stops_at_an_end_token(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    network = opened("gpt2").network
    unrestricted = attnviz_ids(network, Writing(13, temperature=2.0, seed=5))
    end = unrestricted[4]
    assert end not in unrestricted[:4]
    config = network.generation_config
    for ends in (end, [3, end]):
        monkeypatch.setattr(config, "eos_token_id", ends)
        assert attnviz_ids(network, Writing(13, temperature=2.0, seed=5)) == unrestricted[:5]


def test_generation_stops_at_the_models_limit(opened: Open) -> None:
    def count(limit: int, tokens: int = 13) -> int:
        return len(list(generate(opened("gpt2").network, PROMPT, Writing(tokens), limit)))

    assert count(LIMIT) == 13
    assert count(len(PROMPT) + 5) == 5
    assert count(len(PROMPT)) == count(1) == count(LIMIT, tokens=0) == 0


def test_forbidden_tokens_are_not_generated(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    network = opened("t5").network
    forbidden = attnviz_ids(network, Writing(1))[0]
    monkeypatch.setattr(network.generation_config, "bad_words_ids", [[forbidden], [5, 7]])
    monkeypatch.setattr(network.generation_config, "suppress_tokens", [11])
    assert generation_defaults(network) == GenerationDefaults(
        ends=frozenset(), forbidden=tuple(sorted((forbidden, 11)))
    )
    ours = attnviz_ids(network, Writing(13))
    assert ours == transformers_ids(network, 13)
    assert forbidden not in ours


def test_forced_first_token_is_generated(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    network = opened("bart").network
    unrestricted = attnviz_ids(network, Writing(7, temperature=1.0))
    forced = (unrestricted[0] + 1) % network.config.vocab_size
    monkeypatch.setattr(network.generation_config, "forced_bos_token_id", forced)
    ours = list(generate(network, start_of(network), Writing(7), LIMIT, SOURCE))
    assert [step.id for step in ours] == transformers_ids(network, 7)
    assert ours[0].id == forced
    assert ours[0].after[forced] == 1
    assert 0 < ours[0].before[forced] < 1


SCORES = st.lists(st.integers(-300, 300), min_size=2, max_size=17).map(
    lambda tenths: torch.tensor(tenths) / 10
)


@given(scores=SCORES, temperature=st.floats(0.1, 5), top_k=st.integers(0, 20), top_p=st.floats(0.01, 1))
def test_filters_equal_transformers(scores: Tensor, temperature: float, top_k: int, top_p: float) -> None:
    filters: list[Any] = [TemperatureLogitsWarper(temperature)]
    filters += [TopKLogitsWarper(top_k)] if top_k else []
    filters += [TopPLogitsWarper(top_p)] if top_p < 1 else []
    expected = scores[None]
    for each in filters:
        expected = each(None, expected)
    before = scores.clone()
    ours = sampling_probabilities(scores, Writing(1, temperature, top_k, top_p), FREE, 7)
    torch.testing.assert_close(ours, expected[0].softmax(-1), atol=1e-6, rtol=0)
    assert torch.equal(scores, before)
    assert (
        sampling_probabilities(scores, Writing(1, temperature, 0, 0), FREE, 7).max() == 1
    )  # only the most probable token


NOT_NUMBERS: tuple[Any, ...] = (True, "7", None, float("nan"))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        *product(("tokens", "seed", "top_k"), (*NOT_NUMBERS, -1, 1.5, 10**400), ["a whole number from 0 to"]),
        *product(("temperature",), (*NOT_NUMBERS, -0.1, 10.5), ["a number from 0 to 10"]),
        ("temperature", 1e-9, "0.01 or more"),
        *product(("top_p",), (*NOT_NUMBERS, -0.1, 1.01), ["a number from 0 to 1"]),
    ],
)
def test_invalid_generation_settings_are_refused(field: str, value: Any, message: str) -> None:
    with pytest.raises(AttnvizError, match=message):
        Writing(**{"tokens": 7, field: value})


# Predictions


def inputs_of(model: Opened, text: str = TEXT) -> dict[str, Tensor]:
    ids = torch.tensor([[token.id for token in model.tokenizer.tokens(text)]])
    if model.network.config.is_encoder_decoder:
        return {"input_ids": ids, "decoder_input_ids": torch.tensor([[2, 11, 7, 13, 5]])}
    return {"input_ids": ids}


def read_ids(inputs: dict[str, Tensor]) -> list[int]:
    ids: list[int] = inputs.get("decoder_input_ids", inputs["input_ids"])[0].tolist()
    return ids


def check(prediction: Prediction, expected: Tensor, tokenizer: TextTokenizer) -> None:
    """Check that the candidates are the most probable tokens, in order, with their probabilities."""
    best = expected.topk(MAX_CANDIDATES)
    assert [candidate.id for candidate in prediction.candidates] == best.indices.tolist()
    assert [c.probability for c in prediction.candidates] == pytest.approx(best.values.tolist(), abs=1e-6)
    assert [c.text for c in prediction.candidates] == [
        tokenizer.readable(number) for number in best.indices.tolist()
    ]


@pytest.mark.parametrize("family", ["gpt2", "bart"])
def test_next_tokens_are_the_softmax_of_the_logits(opened: Open, family: str) -> None:
    model = opened(family)
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
def test_generated_tokens_have_their_sampling_probabilities(opened: Open, family: str) -> None:
    model = opened(family)
    inputs, writing = inputs_of(model), Writing(5, temperature=0.7, top_k=7, top_p=0.9, seed=1)
    ids = read_ids(inputs)
    source = inputs["input_ids"][0].tolist() if "decoder_input_ids" in inputs else None
    steps = list(generate(model.network, ids, writing, 61, source))
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
    for prediction in found[: len(ids) - 1]:  # the prompt was not sampled
        assert all(candidate.share == candidate.probability for candidate in prediction.candidates)
    assert found[-1].actual is None
    assert sum(candidate.share for candidate in found[-1].candidates) == pytest.approx(1, abs=1e-5)


def test_last_prediction_has_the_end_token_as_its_actual_token(opened: Open) -> None:
    model = opened("bart")
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


@pytest.mark.parametrize(("family", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_masked_tokens_are_the_softmax_at_their_positions(opened: Open, family: str, mask: str) -> None:
    model = opened(family)
    assert model.tokenizer.mask == mask
    inputs = inputs_of(model, f"The {mask} did not {mask} the road")
    expected = model.probabilities(inputs)
    found = masked_tokens(model.network, model.tokenizer, inputs, [2, 5])
    assert [prediction.position for prediction in found] == [2, 5]
    for prediction in found:
        check(prediction, expected[prediction.position], model.tokenizer)
        assert prediction.expects == "masked"
        assert prediction.actual is None
        assert all(candidate.share == candidate.probability for candidate in prediction.candidates)
        assert all(one.probability >= other.probability for one, other in pairwise(prediction.candidates))
