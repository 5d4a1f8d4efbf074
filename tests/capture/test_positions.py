"""What a model does about order is read from its own parts: transformers' own modules say the same."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaModel, PreTrainedModel

from attnviz.capture import loading
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.inspection import run
from attnviz.capture.pictures import SeeingModel
from attnviz.capture.positions import Biases, Positions, Relative, Slopes, Table, Turns, Way, positions_of
from attnviz.capture.recorder import IMPLEMENTATION, recording
from attnviz.errors import ModelNotSupported
from attnviz.trace import Trace
from tests.capture.tiny import FAMILIES, SEEING, SENTENCE, FolderOf, families, untrained

TURNING = (
    "modernbert",
    "gpt_neox",
    "gptj",
    "codegen",
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gpt_oss",
    "phi",
    "phi3",
    "roformer",
    "falcon",
)
TOKENS = 7

Load = Callable[[str], HuggingFaceModel | SeeingModel]
Network = Callable[[str], Any]  # a PreTrainedModel, whose parts are known to its own file only
Read = Callable[[str], tuple[Positions, Trace]]


@pytest.fixture(scope="module")
def load(folder_of: FolderOf) -> Load:
    """A tiny model of a family, loaded once."""

    @cache
    def load_family(family: str) -> HuggingFaceModel | SeeingModel:
        model = loading.load(str(folder_of(family)))
        assert isinstance(model, HuggingFaceModel | SeeingModel)
        return model

    return load_family


@pytest.fixture(scope="module")
def network(load: Load) -> Network:
    """The same as transformers has it."""
    return lambda family: load(family).network


def ids() -> Tensor:
    return torch.arange(9, 9 + TOKENS)[None]


def inputs(model: PreTrainedModel) -> dict[str, Tensor]:
    if hasattr(model.config, "image_size"):
        size = np.broadcast_to(model.config.image_size, 2).tolist()
        return {"pixel_values": torch.rand(1, 3, *size, generator=torch.Generator().manual_seed(1))}
    return {"input_ids": ids(), **({"decoder_input_ids": ids()} if model.config.is_encoder_decoder else {})}


def ways(model: PreTrainedModel, kind: type[Way]) -> list[Any]:
    return [way for way in positions_of(model).ways if isinstance(way, kind)]


WITH_TABLE = (
    *("bert", "distilbert", "albert", "electra", "gpt2", "gpt_neo", "roberta", "opt"),
    *(*SEEING, "clip_text_model", "siglip_text_model"),
)
WAYS: dict[str, tuple[type[Way], ...]] = {
    **dict.fromkeys(WITH_TABLE, (Table,)),
    **dict.fromkeys(("bart", "marian"), (Table, Table)),
    **dict.fromkeys(TURNING, (Turns,)),
    "modernbert": (Turns, Turns),
    "t5": (Biases, Biases),
    **dict.fromkeys(("deberta", "deberta-v2"), (Table, Relative)),
    "mpnet": (Table, Biases),
    **dict.fromkeys(("bloom", "mpt"), (Slopes,)),
}


def test_no_family_is_forgotten() -> None:
    assert sorted(WAYS) == sorted(FAMILIES)


@pytest.mark.parametrize("family", families("positions", tuple(WAYS)))
def test_every_family_has_its_own_ways(network: Network, family: str) -> None:
    found = positions_of(network(family)).ways
    assert tuple(type(way) for way in found) == WAYS[family]
    parts = ["encoder", "decoder"] if network(family).config.is_encoder_decoder else [None] * len(found)
    assert [way.part for way in found] == parts
    for way in found:
        arrays = [value for value in vars(way).values() if isinstance(value, np.ndarray)]
        assert arrays
        assert not any(array.flags.writeable for array in arrays)


TABLES = (
    *("bert", "roberta", "distilbert", "electra", "gpt2", "gpt_neo", "opt", "bart", "marian", "mpnet"),
    *("clip_text_model", "siglip_text_model"),
)


@pytest.mark.parametrize("family", families("tables of positions", TABLES))
def test_a_table_has_the_vectors_that_the_model_adds(network: Network, family: str) -> None:
    model, added = network(family), list[Tensor]()
    modules = [
        module
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding) and ("position" in name or "wpe" in name)
    ]
    hooks = [module.register_forward_hook(lambda *given: added.append(given[2])) for module in modules]
    with torch.inference_mode():
        model(**inputs(model))
    for hook in hooks:
        hook.remove()
    tables = ways(model, Table)
    assert len(added) == len(tables) > 0
    for vectors, table in zip(added, tables, strict=True):
        np.testing.assert_array_equal(vectors.reshape(TOKENS, -1), table.vectors[:TOKENS])


def test_the_rows_that_no_token_uses_are_left_out(network: Network) -> None:
    # RoBERTa's padding has row 1, OPT's and BART's tables begin with two rows of fairseq's.
    for family, unused in (("bert", 0), ("roberta", 2), ("opt", 2), ("bart", 2)):
        table = ways(network(family), Table)[0]
        assert (table.unused, len(table.vectors)) == (unused, 61)


@pytest.mark.parametrize(
    ("family", "grid", "beside"),
    [("vit", (3, 5), 1), ("dinov2", (4, 4), 1), ("clip", (4, 4), 1), ("siglip", (4, 4), 0)],
)
def test_a_picture_has_a_vector_for_each_patch(
    network: Network, family: str, grid: tuple[int, int], beside: int
) -> None:
    model = network(family)
    [table] = ways(model, Table)
    embeddings, given = model.base_model.embeddings, inputs(model)
    [places] = (each for name, each in embeddings.named_parameters() if name.startswith("position_embedding"))
    with torch.inference_mode():
        placed = embeddings(**given)
        places.data.zero_()
        bare = embeddings(**given)
    places.data.copy_(torch.tensor(table.vectors))
    assert table.grid == grid
    assert table.vectors.shape == (beside + grid[0] * grid[1], 15)
    np.testing.assert_allclose((placed - bare)[0], table.vectors, atol=1e-6)


def test_only_marian_has_sines(network: Network) -> None:
    learned = {
        family: table.learned
        for family in ("bert", "gpt2", "opt", "bart", "marian")
        for table in ways(network(family), Table)
    }
    assert learned == {"bert": True, "gpt2": True, "opt": True, "bart": True, "marian": False}
    # Marian sets all sines before all cosines; d_model is odd, so there is one sine more. Row 3, pair 2:
    # sin and cos of 3 / 10000^(4 / 15).
    row = ways(network("marian"), Table)[0].vectors[3]
    angle = 3 / 10_000 ** (4 / 15)
    assert row[[2, 8 + 2]] == pytest.approx([np.sin(angle), np.cos(angle)], abs=1e-6)


def queries(model: PreTrainedModel, places: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Each layer's queries and keys, [head, token, d_head], where the tokens stand at these places."""
    with recording() as records, torch.inference_mode():
        run(model, {"input_ids": ids(), "position_ids": places[None]})
    return [(record.query[0], record.key[0]) for record in records]


@pytest.mark.parametrize("family", families("turned queries", TURNING))
def test_turns_make_of_unturned_queries_what_the_model_makes(network: Network, family: str) -> None:
    model, places = network(family), np.arange(TOKENS)
    [first] = (turns for turns in ways(model, Turns) if 0 in turns.layers)
    with recording() as records, torch.inference_mode():
        run(model, {"input_ids": torch.full((1, TOKENS), 17)})
    # One token at all places; at place 0 nothing is turned, and no layer comes before the first.
    for turned in (records[0].query[0].numpy(), records[0].key[0].numpy()):
        assert not np.allclose(turned[:, 0], turned[:, 3], atol=1e-2)
        for head in turned:
            plain = np.broadcast_to(head[0], head.shape)
            ours = first.turned(plain, places)
            np.testing.assert_allclose(ours, head, atol=1e-5)
            np.testing.assert_allclose(first.turned(ours, -places), plain, atol=1e-5)


@pytest.mark.parametrize("family", ["modernbert", "gptj"])
def test_turned_scores_depend_on_the_distance_alone(network: Network, family: str) -> None:
    model, places = network(family), torch.arange(TOKENS)
    for (query, key), (far_query, far_key) in zip(
        queries(model, places), queries(model, places + 23), strict=True
    ):
        assert not np.allclose(query, far_query, atol=1e-2)
        np.testing.assert_allclose(query @ key.mT, far_query @ far_key.mT, rtol=1e-3, atol=1e-4)


def test_local_and_global_layers_turn_at_their_own_rates(network: Network) -> None:
    model, places = network("modernbert"), torch.arange(TOKENS)
    everywhere, nearby = ways(model, Turns)
    assert (everywhere.layers, nearby.layers) == ((0, 2), (1,))
    assert (everywhere.theta, nearby.theta) == (160_000, 10_000)
    for turns, kind in ((everywhere, "full_attention"), (nearby, "sliding_attention")):
        cosine, sine = model.base_model.rotary_emb(torch.empty(0), places[None], kind)
        for column in turns.pairs.T.tolist():
            np.testing.assert_allclose(np.cos(turns.angles(places.numpy())), cosine[0][:, column], atol=1e-6)
            np.testing.assert_allclose(np.sin(turns.angles(places.numpy())), sine[0][:, column], atol=1e-6)


def test_a_part_of_each_head_is_turned(network: Network) -> None:
    # Of 10 numbers 40 %: numbers 0 and 2, 1 and 3; the second pair turns by 10000^(−2/4) a place.
    for family in ("gpt_neox", "phi"):
        [turns] = ways(network(family), Turns)
        assert turns.d_head == 10
        assert turns.pairs.tolist() == [[0, 2], [1, 3]]
        assert turns.frequencies == pytest.approx([1, 0.01])


def test_what_a_model_holds_and_does_not_use_so_is_not_told(network: Network) -> None:
    model = network("roformer")
    assert not ways(
        model, Table
    )  # its table of sines is added to no token: queries and keys are turned by it
    [turns] = ways(model, Turns)
    assert (turns.pairs.tolist(), turns.d_head) == ([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]], 10)
    assert turns.frequencies == pytest.approx([10_000 ** (-pair / 5) for pair in range(5)])
    unused = built("llama", **_SMALL, num_hidden_layers=1)
    unused.embed_positions = nn.Embedding(3, 6)
    assert [way.kind for way in positions_of(unused).ways] == ["turns"]


def test_neighbours_are_turned_together_in_gptj(network: Network) -> None:
    [turns] = ways(network("gptj"), Turns)
    assert (turns.pairs.tolist(), turns.d_head, turns.theta) == ([[0, 1], [2, 3]], 10, None)
    assert turns.frequencies == pytest.approx([1, 0.01])


_SMALL = {"hidden_size": 6, "num_attention_heads": 1, "intermediate_size": 5}


def built(family: str, **sizes: Any) -> PreTrainedModel:
    special = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    model: PreTrainedModel = untrained(family, attention=IMPLEMENTATION, vocab_size=11, **special, **sizes)
    return model


def test_layers_that_turn_nothing_are_not_among_those_that_do() -> None:
    sizes: dict[str, Any] = dict(_SMALL, num_key_value_heads=1, num_hidden_layers=3)
    [turns] = ways(built("smollm3", **sizes, no_rope_layers=[1, 0, 1]), Turns)
    assert turns.layers == (0, 2)
    assert positions_of(built("smollm3", **sizes, no_rope_layers=[0, 0, 0])).ways == ()


def test_what_is_not_known_is_refused_and_not_called_nothing() -> None:
    model = built("xglm", d_model=6, ffn_dim=5, num_layers=2, attention_heads=1)
    with pytest.raises(ModelNotSupported, match="in a way that attnviz does not know"):
        positions_of(model)


def test_scaled_frequencies_are_the_scaled_ones() -> None:
    rope = {"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}
    sizes: dict[str, Any] = dict(_SMALL, num_hidden_layers=1)
    model = LlamaModel(LlamaConfig(vocab_size=11, rope_parameters=rope, **sizes))
    [turns] = ways(model, Turns)
    assert (turns.rule, turns.theta, turns.factor) == ("linear", 100, 1)
    assert turns.frequencies == pytest.approx([0.25 * 100 ** (-pair / 3) for pair in range(3)])
    rope = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 100.0, "original_max_position_embeddings": 16}
    [turns] = ways(LlamaModel(LlamaConfig(vocab_size=11, rope_parameters=rope, **sizes)), Turns)
    assert turns.rule == "yarn"
    assert turns.factor == pytest.approx(0.1 * np.log(4) + 1)  # Peng et al. 2023, §3.4


# What is added to the scores: against the biases that the models used when they read a sentence


@pytest.fixture(scope="module")
def read(load: Load) -> Read:
    """What a tiny model does about order, and what it did with a sentence."""

    @cache
    def reading(family: str) -> tuple[Positions, Trace]:
        model = load(family)
        return positions_of(model.network), model.trace(SENTENCE)

    return reading


@pytest.mark.parametrize(
    ("family", "layers"), [("t5", {"encoder": (0, 1, 2), "decoder": (0, 1)}), ("mpnet", {None: (0, 1)})]
)
def test_biases_are_those_of_a_reading(read: Read, family: str, layers: dict[Any, tuple[int, ...]]) -> None:
    found, trace = read(family)
    biases = [way for way in found.ways if isinstance(way, Biases)]
    assert {way.part: way.layers for way in biases} == layers
    for way in biases:
        assert (way.distances[-1] == 0) == (way.part == "decoder")
        for block in trace.of_kind(way.part or "encoder"):
            assert block.bias is not None
            for query, key in zip(*np.nonzero(block.mask), strict=True):
                [column] = np.flatnonzero(way.distances == key - query)
                np.testing.assert_array_equal(block.bias[:, query, key], way.biases[:, column])
    without = [block for block in trace.blocks if block.bias is None]
    assert without == list(trace.of_kind("cross") if family == "t5" else ())
    assert family != "t5" or all(block.scale == 1 for block in trace.blocks)


@pytest.mark.parametrize("family", ["bloom", "mpt"])
def test_slopes_are_those_of_a_reading(read: Read, family: str) -> None:
    found, trace = read(family)
    [way] = found.ways
    assert isinstance(way, Slopes)
    # Of three heads, two take the slopes of two heads and one that of four (Press et al. 2022).
    assert way.slopes == pytest.approx([2**-4, 2**-8, 2**-2])
    for block in trace.of_kind("decoder"):
        assert block.bias is not None
        steps = np.diff(block.bias, axis=-1)
        np.testing.assert_allclose(steps, np.broadcast_to(way.slopes[:, None, None], steps.shape), atol=1e-5)


@pytest.mark.parametrize("family", ["deberta", "deberta-v2"])
def test_debertas_vectors_are_those_of_its_reading(read: Read, network: Network, family: str) -> None:
    found, trace = read(family)
    _, way = found.ways
    assert isinstance(way, Relative)
    attention = network(family).base_model.encoder.layer[0].attention.self
    block = trace.block("encoder", 0)
    heads, tokens, d_head = block.query.shape
    # He et al. 2021, eq. 4: a query meets the key of the distance, and a key its query.
    of_distance = torch.tensor(way.vectors)
    with torch.inference_mode():
        to_key = attention.pos_proj if family == "deberta" else attention.key_proj
        to_query = attention.pos_q_proj if family == "deberta" else attention.query_proj
        keys, queries = (
            to(of_distance).reshape(-1, heads, d_head).permute(1, 0, 2).numpy() for to in (to_key, to_query)
        )
    farthest = way.distances.max()
    toward = np.subtract.outer(np.arange(tokens), np.arange(tokens)).T.clip(-farthest, farthest) + farthest
    content_to_position = np.einsum("hqd,hqkd->hqk", block.query, keys[:, toward])
    position_to_content = np.einsum("hkd,hqkd->hqk", block.key, queries[:, toward])
    assert block.bias is not None
    expected = (content_to_position + position_to_content) / np.sqrt(3 * d_head)
    np.testing.assert_allclose(block.bias, expected, rtol=1e-3, atol=1e-4)
