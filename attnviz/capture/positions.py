"""How a transformers model encodes positions: by a table, rotations or biases, read from its modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture.arrays import owned
from attnviz.capture.inspection import run
from attnviz.capture.recorder import Record, recording
from attnviz.errors import ModelNotSupported
from attnviz.models import config as sizes
from attnviz.models import families
from attnviz.trace import Floats

Part = Literal["encoder", "decoder"]
Distances = Int[np.ndarray, " distance"]

_ADDED_TO_SCORES = frozenset({"slopes", "biases", "relative"})  # kinds of ways

# How modules and parameters are called that hold a vector for each place.
_TABLES = ("position_embeddings", "position_embedding", "embed_positions", "wpe")
_FARTHEST = 128  # how far apart two tokens are of whose bias is told; T5 and MPNet tell no farther ones apart


@dataclass(frozen=True, eq=False)
class Table:
    """One vector for each place, added to the token's (Gehring et al. 2017; sines: Vaswani et al. 2017).

    Attributes:
        part: which half of an encoder–decoder; None: there is one half only.
        vectors: [place, d_model]; row i is added to token i.
        learned: False for the paper's sines and cosines, which no training changes.
        unused: how many rows of the model's table come before the first token's, and serve no token.
        grid: of a picture's patches, whose vectors come last: (rows, columns); None for a text.
    """

    kind: ClassVar[Literal["table"]] = "table"
    part: Part | None
    vectors: Floats
    learned: bool
    unused: int = 0
    grid: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Turns:
    """Pairs of numbers of queries and keys turned by angles that grow with the place (Su et al. 2021).

    Attributes:
        part: which half of an encoder–decoder; None: there is one half only.
        layers: where it turns so, from 0.
        frequencies: [pair], radians a place.
        pairs: [pair, 2], which two numbers of the d_head are turned together, from 0.
        d_head: how many numbers a query has; those in no pair stay as they are.
        theta: the base of the frequencies, as the model's config has it; None where it does not say.
        rule: what was done to the frequencies for longer texts ("default": nothing).
        factor: what the turned numbers are multiplied by besides (1 but in some rules for longer texts).
    """

    kind: ClassVar[Literal["turns"]] = "turns"
    part: Part | None
    layers: tuple[int, ...]
    frequencies: Floats
    pairs: Int[np.ndarray, "pair 2"]
    d_head: int
    theta: float | None
    rule: str
    factor: float

    def angles(self, places: NDArray[np.integer[Any]]) -> Floats:
        """By how many radians each pair is turned at each place, [place, pair]."""
        return np.asarray(places, np.float32)[:, None] * self.frequencies

    def turned(self, vectors: Floats, places: NDArray[np.integer[Any]]) -> Floats:
        """Queries or keys that stand at these places, turned: [place, d_head], both ways.

        The pair (x, y) becomes (x cos − y sin, x sin + y cos). Minus the places turn it back.
        """
        angles = self.angles(places)
        cosine, sine = np.cos(angles), np.sin(angles)
        first, second = self.pairs.T
        turned = vectors.copy()
        turned[:, first] = vectors[:, first] * cosine - vectors[:, second] * sine
        turned[:, second] = vectors[:, first] * sine + vectors[:, second] * cosine
        return turned


@dataclass(frozen=True, eq=False)
class Slopes:
    """Each score lowered by the distance, in each head at its own rate (ALiBi: Press et al. 2022).

    Attributes:
        part: which half of an encoder–decoder; None: there is one half only.
        slopes: [head], how much a score falls with each token between query and key.
    """

    kind: ClassVar[Literal["slopes"]] = "slopes"
    part: Part | None
    slopes: Floats


@dataclass(frozen=True, eq=False)
class Biases:
    """A learned number for each distance, added to the scores of a head (Raffel et al. 2020).

    Attributes:
        part: which half of an encoder–decoder; None: there is one half only.
        layers: where it is added, from 0.
        distances: [distance], key's place − query's place; a decoder's end at 0.
        biases: [head, distance].
    """

    kind: ClassVar[Literal["biases"]] = "biases"
    part: Part | None
    layers: tuple[int, ...]
    distances: Distances
    biases: Floats


@dataclass(frozen=True, eq=False)
class Relative:
    """One vector for each distance, which meets queries and keys in the scores (DeBERTa: He et al. 2021).

    Attributes:
        part: which half of an encoder–decoder; None: there is one half only.
        distances: [distance], key's place − query's place.
        vectors: [distance, d_model].
    """

    kind: ClassVar[Literal["relative"]] = "relative"
    part: Part | None
    distances: Distances
    vectors: Floats


Way = Table | Turns | Slopes | Biases | Relative


@dataclass(frozen=True)
class Positions:
    """All that tells a model where a token stands.

    Attributes:
        ways: in the order of the model's modules; none: to its attention all places are alike.
    """

    ways: tuple[Way, ...]


def positions_of(network: PreTrainedModel) -> Positions:
    """What a loaded model does about order.

    Raises:
        ModelNotSupported: it tells places apart in a way that attnviz does not know.
    """
    with torch.inference_mode():
        records = _of_one_token(network)
        found: tuple[Way, ...] = (
            *_tables(network),
            *_turns(network),
            *_turns_by_table(network),
            *_slopes(records),
            *_biases(network),
            *_relative(network),
        )
    unknown = not found
    if records:
        # What a model holds, it need not use, or not so: RoFormer's table of places is what it turns by.
        added = _differ(records[0].value)
        moved = [_differ(record.query) or _differ(record.key) for record in records]
        biased = any(record.bias is not None for record in records)
        does = {"table": added, "turns": any(moved), **dict.fromkeys(_ADDED_TO_SCORES, biased)}
        found = tuple(way for way in found if does[way.kind])
        kinds = {way.kind for way in found}
        unknown = (
            (added and "table" not in kinds)
            or (moved[0] and not kinds & {"table", "turns"})
            or (biased and not kinds & _ADDED_TO_SCORES)
        )
    if unknown:
        raise ModelNotSupported(
            f"{type(network).__name__} tells places apart in a way that attnviz does not know, so its "
            "positions cannot be shown. Its attention can."
        )
    return Positions(found)


def _tables(network: PreTrainedModel) -> Iterator[Table]:
    sines = bool(getattr(network.config, "sinusoidal_pos_embds", False))  # DistilBERT's
    for name, module in network.named_modules():
        if name.rpartition(".")[2] in _TABLES and isinstance(module, nn.Embedding):
            # Where there is a row for padding, texts begin behind it (RoBERTa); others say it themselves.
            behind_padding = 0 if module.padding_idx is None else module.padding_idx + 1
            unused = int(getattr(module, "offset", behind_padding))
            part = _part(network, name)
            learned = not sines and "Sinusoidal" not in type(module).__name__
            yield Table(part, _owned(module.weight[unused:]), learned, unused, _grid(network))
    for name, parameter in network.named_parameters():
        if name.rpartition(".")[2] in _TABLES:  # ViT's, with a batch axis
            yield Table(_part(network, name), _owned(parameter[0]), learned=True, grid=_grid(network))


def _turns(network: PreTrainedModel) -> Iterator[Turns]:
    # SmolLM3 leaves some layers out, and says so in their attention.
    still = {module.layer_idx for module in network.modules() if not getattr(module, "use_rope", True)}
    for name, module in network.named_modules():
        for buffer_name, frequencies in module.named_buffers(recurse=False):
            before, found, _ = buffer_name.partition("inv_freq")
            if not found or "original" in before:
                continue
            layer_type = before.rstrip("_")
            config = network.config
            types = getattr(config, "layer_types", None) or [layer_type] * config.num_hidden_layers
            layers = [layer for layer, kind in enumerate(types) if layer_type in {"", kind}]
            turning = tuple(layer for layer in layers if layer not in still)
            if not turning:
                continue
            rules = config.rope_parameters[layer_type] if layer_type else config.rope_parameters
            yield Turns(
                part=_part(network, name),
                layers=turning,
                frequencies=_owned(frequencies),
                pairs=_pairs(network, 2 * len(frequencies)),
                d_head=getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
                theta=float(rules["rope_theta"]),
                rule=rules["rope_type"],
                factor=float(getattr(module, f"{before}attention_scaling", 1.0)),
            )


def _turns_by_table(network: PreTrainedModel) -> Iterator[Turns]:
    """GPT-J, CodeGen and RoFormer keep the sines and then the cosines of every place, for all layers."""
    config = network.config
    tables = [
        buffer for name, buffer in network.named_buffers() if name.rpartition(".")[2] == "embed_positions"
    ]
    if _roformers_turn(network) is not None:
        base: Any = network.base_model
        tables.append(base.encoder.embed_positions.weight)
    if tables:
        sines, cosines = tables[0].chunk(2, dim=-1)
        yield Turns(
            part=None,
            layers=tuple(range(config.num_hidden_layers)),
            frequencies=_owned(torch.atan2(sines[1], cosines[1])),
            pairs=_pairs(network, tables[0].shape[-1]),
            d_head=config.hidden_size // config.num_attention_heads,
            theta=None,
            rule="default",
            factor=1.0,
        )


def _slopes(records: Sequence[Record]) -> Iterator[Slopes]:
    """Where what is added to the scores grows by the same number from each key to the next."""
    if records and records[0].bias is not None:
        steps = records[0].bias[0].diff(dim=-1)  # [head, query, key − 1]
        slopes = steps[:, 0, 0]
        if torch.allclose(steps, slopes[:, None, None]):
            yield Slopes(None, _owned(slopes))


def _biases(network: PreTrainedModel) -> Iterator[Biases]:
    having = [
        (name, module)
        for name, module in network.named_modules()
        if isinstance(getattr(module, "relative_attention_bias", None), nn.Embedding)
    ]
    for name, module in having:
        tokens = _FARTHEST + 1
        if hasattr(module, "compute_bias"):  # T5's attention
            (between,) = module.compute_bias(tokens, tokens)  # [head, query, key]
            before = module.is_decoder
        else:  # MPNet's encoder
            (between,) = module.compute_position_bias(torch.empty(1, tokens, 0))
            before = False
        ahead = between[:, 0, 1:]
        back = between[:, :, 0].flip(-1)  # from the farthest back to the token itself
        yield Biases(
            part=_part(network, name),
            layers=_layers_of_bias(network, name, [other for other, _ in having]),
            distances=_owned(torch.arange(1 - tokens, 1 if before else tokens)),
            biases=_owned(back if before else torch.cat([back, ahead], dim=-1)),
        )


def _layers_of_bias(network: PreTrainedModel, name: str, having: list[str]) -> tuple[int, ...]:
    """T5's first layer has a bias, which all others take over; in UMT5 each has its own."""
    stack, _, rest = name.partition(".block.")
    if sum(other.startswith(stack) for other in having) > 1:
        return (int(rest.partition(".")[0]),)
    config = network.config
    decoder = _part(network, name) == "decoder"
    return tuple(range(config.num_decoder_layers if decoder else config.num_hidden_layers))


def _relative(network: PreTrainedModel) -> Iterator[Relative]:
    for name, module in network.named_modules():
        if not hasattr(module, "get_rel_embedding") or not module.relative_attention:
            continue
        table = module.get_rel_embedding()
        half = len(table) // 2
        tokens = min(module.max_relative_positions, _FARTHEST) + 1
        rows = module.get_rel_pos(torch.empty(1, tokens, 0))[0] + half  # [query, key]
        rows = rows.clamp(0, len(table) - 1)
        back, ahead = rows[:, 0].flip(-1), rows[0, 1:]
        yield Relative(
            part=_part(network, name),
            distances=_owned(torch.arange(1 - tokens, tokens)),
            vectors=_owned(table[torch.cat([back, ahead])]),
        )


def _of_one_token(network: PreTrainedModel) -> Sequence[Record]:
    """What the attentions are given if one token stands at five places; none of two stacks, or without text.

    Values then differ only if vectors of places were added to the token's; without these, queries and keys
    differ only if they are turned.
    """
    if network.config.is_encoder_decoder or network.main_input_name != "input_ids":
        return ()
    with recording() as records:
        run(network, {"input_ids": torch.full((1, 5), network.config.vocab_size - 1, device=network.device)})
    return records


def _differ(vectors: Tensor) -> bool:
    """Whether those of some places, [1, head, token, d_head], differ by more than rounding."""
    rounding = max(1e-5, 4 * torch.finfo(vectors.dtype).eps)
    return bool((vectors - vectors[:, :, :1]).abs().max() > rounding * vectors.abs().max())


def _pairs(network: PreTrainedModel, turned: int) -> Int[np.ndarray, "pair 2"]:
    """Which numbers are turned together: the model's own function puts −y where x was, x where y was."""
    modelling = sys.modules[type(network).__module__]
    turn = (
        getattr(modelling, "rotate_half", None)
        or getattr(modelling, "rotate_every_two", None)
        or _roformers_turn(network)
        or _turn_of_halves(modelling)
    )
    if turn is None:
        raise ModelNotSupported(
            f"{type(network).__name__} turns its queries and keys in a way of its own that attnviz does not "
            "know, so its positions cannot be shown. Its attention can."
        )
    moved = turn(torch.arange(1.0, turned + 1)[None, None, None]).flatten().round().int()
    first = torch.nonzero(moved < 0).flatten()
    pairs: Int[np.ndarray, "pair 2"] = owned(torch.stack([first, -moved[first] - 1], dim=-1))
    return pairs


def _turn_of_halves(modelling: Any) -> Callable[[Tensor], Tensor] | None:
    """A quarter turn by GPT-OSS's function, which takes one cosine and one sine for each pair."""
    turn = getattr(modelling, "_apply_rotary_emb", None)
    if turn is None:
        return None
    return lambda vectors: turn(
        vectors, torch.zeros(vectors.shape[-1] // 2), torch.ones(vectors.shape[-1] // 2)
    )


def _roformers_turn(network: PreTrainedModel) -> Callable[[Tensor], Tensor] | None:
    """A quarter turn by the function that RoFormer's attention has of its own; None in other families."""
    for module in network.modules():
        turn = getattr(module, "apply_rotary_position_embeddings", None)
        if turn is not None:
            return lambda vectors: turn(
                torch.arange(vectors.shape[-1]) < vectors.shape[-1] / 2, vectors, vectors
            )[0]
    return None


def _part(network: PreTrainedModel, name: str) -> Part | None:
    if not network.config.is_encoder_decoder:
        return None
    return "decoder" if "decoder" in name.split(".") else "encoder"


def _grid(network: PreTrainedModel) -> tuple[int, int] | None:
    """(rows, columns) of the patches that a model has places for; None if it sees no pictures."""
    if (config := network.config).model_type not in families.SEES:
        return None
    name = type(network).__name__
    (height, width), patch = (sizes.pair(config, size, name) for size in ("image_size", "patch_size"))
    return height // patch[0], width // patch[1]


def _owned(tensor: Tensor) -> Any:
    return owned(tensor.detach().float() if tensor.is_floating_point() else tensor.detach())
