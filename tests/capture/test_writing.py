from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from attnviz.capture.generation import Habits, drawn_by, habits_of, write
from attnviz.capture.given import MOST_SEED, MOST_WRITTEN, Given, Writing, as_given
from attnviz.capture.network import open_network
from attnviz.errors import AttnvizError
from tests.capture.tiny import tiny

DECODERS = ("gpt2", "llama", "mistral", "bloom")  # mistral looks back five tokens only
ENCODER_DECODERS = ("bart", "t5", "marian")
FREE = Habits(ends=frozenset())
SOURCE, PROMPT = [5, 11, 7, 3, 1], [7, 13, 5]
LIMIT = 61


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models with their heads."""
    families = (*DECODERS, *ENCODER_DECODERS)
    return {family: tiny(family, tmp_path_factory.mktemp(family)) for family in families}


@pytest.fixture(scope="module")
def networks(folders: dict[str, Path]) -> dict[str, Any]:
    """The models as transformers itself runs them; nothing ends their texts."""

    def opened(family: str) -> Any:
        auto = AutoModelForCausalLM if family in DECODERS else AutoModelForSeq2SeqLM
        network = auto.from_pretrained(
            folders[family], attn_implementation="eager", local_files_only=True, use_safetensors=True
        )
        return endless(network.eval())

    return {family: opened(family) for family in folders}


def endless(network: Any) -> Any:
    config = network.generation_config
    config.eos_token_id = config.forced_eos_token_id = config.forced_bos_token_id = None
    return network


def start_of(network: Any) -> list[int]:
    """What its decoder has before it writes."""
    return [network.config.decoder_start_token_id] if network.config.is_encoder_decoder else PROMPT


def source_of(network: Any) -> list[int] | None:
    return SOURCE if network.config.is_encoder_decoder else None


def written(network: Any, writing: Writing) -> list[int]:
    return [step.id for step in write(network, start_of(network), writing, LIMIT, source_of(network))]


def generated(network: Any, most: int) -> list[int]:
    """The likeliest tokens by transformers itself."""
    ids = torch.tensor([source_of(network) or PROMPT])
    made = network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        num_beams=1,
        max_new_tokens=most,
        pad_token_id=0,
    )
    ids_made: list[int] = made[0].tolist()
    return ids_made[len(start_of(network)) :]


@pytest.mark.parametrize("family", [*DECODERS, *ENCODER_DECODERS])
def test_the_likeliest_tokens_are_those_of_transformers(
    folders: dict[str, Path], networks: dict[str, Any], family: str
) -> None:
    """Ours by the network that is recorded, theirs by `eager`."""
    ours = written(endless(open_network(folders[family])), Writing(13))
    assert len(ours) == 13
    assert ours == written(networks[family], Writing(13)) == generated(networks[family], 13)


@pytest.mark.parametrize("family", [*DECODERS, *ENCODER_DECODERS])
def test_each_step_has_the_probabilities_of_one_full_pass(networks: dict[str, Any], family: str) -> None:
    """Keys and values kept from before change nothing."""
    network = networks[family]
    steps = list(
        write(network, start_of(network), Writing(7, temperature=1.3, seed=3), LIMIT, source_of(network))
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


def test_the_seed_alone_decides(networks: dict[str, Any]) -> None:
    drawn = [
        tuple(written(networks["gpt2"], Writing(13, temperature=2.0, seed=seed))) for seed in (1, 1, 2, 3)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_tokens_are_drawn_as_often_as_they_are_likely(networks: dict[str, Any]) -> None:
    [step] = write(networks["gpt2"], PROMPT, Writing(1, temperature=1.5, top_k=5), LIMIT)
    draws = [written(networks["gpt2"], Writing(1, 1.5, top_k=5, seed=seed))[0] for seed in range(300)]
    shares = torch.bincount(torch.tensor(draws), minlength=len(step.after)) / len(draws)
    # Four standard deviations of a share that is measured 300 times.
    assert (
        (shares - step.after).abs() <= 4 * (step.after * (1 - step.after) / len(draws)).sqrt() + 1e-6
    ).all()


def test_it_ends_where_the_model_ends_its_text(networks: dict[str, Any]) -> None:
    network = networks["gpt2"]
    free = written(network, Writing(13, temperature=2.0, seed=5))
    end = free[4]
    assert end not in free[:4]
    config = network.generation_config
    for ends in (end, [3, end]):
        config.eos_token_id = ends
        try:
            assert written(network, Writing(13, temperature=2.0, seed=5)) == free[:5]
        finally:
            config.eos_token_id = None


def test_it_never_reads_more_than_the_model_can(networks: dict[str, Any]) -> None:
    def count(limit: int, tokens: int = 13) -> int:
        return len(list(write(networks["gpt2"], PROMPT, Writing(tokens), limit)))

    assert count(LIMIT) == 13
    assert count(len(PROMPT) + 5) == 5
    assert count(len(PROMPT)) == count(1) == count(LIMIT, tokens=0) == 0


def test_what_a_model_must_not_write_it_does_not_write(networks: dict[str, Any]) -> None:
    network = networks["t5"]
    free = written(network, Writing(1))[0]
    config = network.generation_config
    config.bad_words_ids, config.suppress_tokens = [[free], [5, 7]], [11]
    try:
        assert habits_of(network) == Habits(ends=frozenset(), never=tuple(sorted((free, 11))))
        ours = written(network, Writing(13))
        assert ours == generated(network, 13)
        assert free not in ours
    finally:
        config.bad_words_ids = config.suppress_tokens = None


def test_what_a_decoder_must_write_first_it_writes_first(networks: dict[str, Any]) -> None:
    network = networks["bart"]
    free = written(network, Writing(7, temperature=1.0))
    config = network.generation_config
    config.forced_bos_token_id = forced = (free[0] + 1) % network.config.vocab_size
    try:
        ours = list(write(network, start_of(network), Writing(7), LIMIT, SOURCE))
        assert [step.id for step in ours] == generated(network, 7)
        assert ours[0].id == forced
        assert ours[0].after[forced] == 1
        assert 0 < ours[0].before[forced] < 1
    finally:
        config.forced_bos_token_id = None


SCORES = st.lists(st.integers(-300, 300), min_size=2, max_size=17).map(
    lambda tenths: torch.tensor(tenths) / 10
)


@given(
    scores=SCORES,
    temperature=st.floats(0.1, 5),
    top_k=st.integers(0, 20),
    top_p=st.floats(0.01, 1),
)
def test_the_filters_are_those_of_transformers(
    scores: Tensor, temperature: float, top_k: int, top_p: float
) -> None:
    filters: list[Any] = [TemperatureLogitsWarper(temperature)]
    filters += [TopKLogitsWarper(top_k)] if top_k else []
    filters += [TopPLogitsWarper(top_p)] if top_p < 1 else []
    expected = scores[None]
    for each in filters:
        expected = each(None, expected)
    before = scores.clone()
    ours = drawn_by(scores, Writing(1, temperature, top_k, top_p), FREE, 7)
    torch.testing.assert_close(ours, expected[0].softmax(-1), atol=1e-6, rtol=0)
    assert torch.equal(scores, before)


@given(scores=SCORES, top_p=st.floats(0.01, 1))
def test_top_p_keeps_the_fewest_that_have_the_probability(scores: Tensor, top_p: float) -> None:
    """Holtzman et al. 2020, equation 2: together they reach p; without the least likely they do not."""
    probabilities = scores.double().softmax(-1)
    kept = probabilities[drawn_by(scores, Writing(1, 1.0, top_p=top_p), FREE, 7) > 0]
    assert kept.sum() >= top_p - 1e-6
    assert len(kept) == 1 or kept.sum() - kept.min() <= top_p + 1e-6
    assert kept.min() >= probabilities.topk(len(kept)).values.min() - 1e-12


def test_the_filters_by_hand() -> None:
    scores = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()

    def shares(**filters: Any) -> list[float]:
        return [round(share, 6) for share in drawn_by(scores, Writing(1, **filters), FREE, 7).tolist()]

    assert shares() == shares(top_p=0.9, top_k=3) == [1, 0, 0, 0]
    assert shares(temperature=1.0) == [0.5, 0.3, 0.15, 0.05]
    assert shares(temperature=1.0, top_k=2) == [0.625, 0.375, 0, 0]
    assert shares(temperature=1.0, top_p=0.79) == [0.625, 0.375, 0, 0]
    assert shares(temperature=1.0, top_p=0.81) == [0.526316, 0.315789, 0.157895, 0]
    assert shares(temperature=0.5) == [round(share**2 / 0.365, 6) for share in (0.5, 0.3, 0.15, 0.05)]
    # First top-k, then top-p of what is left: 0.625 alone is more than 0.6.
    assert shares(temperature=1.0, top_k=2, top_p=0.6) == [1, 0, 0, 0]
    never = drawn_by(scores, Writing(1), Habits(ends=frozenset(), never=(0, 58_100)), 7)
    assert never.tolist() == [0, 1, 0, 0]


BAD: tuple[Any, ...] = (-1, 1.5, True, "7", None, float("nan"), 10**400)


@pytest.mark.parametrize(
    ("field", "bad"), [*product(("tokens", "seed"), BAD), *product(("top_k",), BAD[:-1])]
)
def test_whole_numbers_are_checked(field: str, bad: Any) -> None:
    with pytest.raises(AttnvizError, match=r"must be a whole number, 0 (to|or more)"):
        Writing(**{"tokens": 7, field: bad})


@pytest.mark.parametrize("bad", [-0.1, 1e-9, 10.5, float("nan"), float("inf"), True, "1", None])
def test_the_temperature_is_checked(bad: Any) -> None:
    said = r"0 \(always the likeliest token\) or a number from 0.01 to 10, not "
    with pytest.raises(AttnvizError, match=said):
        Writing(7, temperature=bad)


@pytest.mark.parametrize("bad", [-0.1, 0, 1.01, float("nan"), float("inf"), True, "1", None])
def test_top_p_is_checked(bad: Any) -> None:
    with pytest.raises(AttnvizError, match=r"above 0 and not above 1 .*, not "):
        Writing(7, top_p=bad)


def test_the_ends_of_the_ranges_are_allowed() -> None:
    assert Writing(MOST_WRITTEN, 0.01, 10**6, 1, MOST_SEED) == Writing(
        MOST_WRITTEN, 0.01, 10**6, 1.0, MOST_SEED
    )
    with pytest.raises(AttnvizError, match=f"0 to {MOST_WRITTEN}, not {MOST_WRITTEN + 1}"):
        Writing(MOST_WRITTEN + 1)


def test_a_text_alone_is_given_as_it_is() -> None:
    assert as_given("A dog") == Given("A dog")
    assert as_given(Given("A dog", second="A cat")) == Given("A dog", second="A cat")
