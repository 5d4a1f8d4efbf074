"""The layers, heads and queries that a trace keeps, and the form in which they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex, get_args

from attnviz.errors import AttnvizError, InvalidTrace, ModelNotSupported, quoted
from attnviz.text import joined
from attnviz.trace import Block, Token, as_int, selected

Store = Literal["auto", "weights", "vectors"]
"""What is stored: weights; queries and keys ("vectors"); or weights if they fit into memory ("auto")."""

Numbers = SupportsIndex | Iterable[SupportsIndex] | None
"""One index, from 0, or several; None: all."""

MAX_WEIGHT_BYTES = 10**9
"""The default maximum size of a trace's weights, in bytes."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The parts of a forward pass that a trace keeps.

    Attributes:
        layers: the indices of the layers, for each kind of attention; None: all.
        heads: the indices of the heads in each of these layers; None: all.
        queries: the positions of the query tokens, in each kind of attention; None: all.
        store: see `Store`.
        max_weight_bytes: the maximum size of weights in memory, in bytes.
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    queries: tuple[int, ...] | None = None
    store: Store = "auto"
    max_weight_bytes: int = MAX_WEIGHT_BYTES

    def keeps(self, layer: int) -> bool:
        """Return whether a layer with this index is kept."""
        return self.layers is None or layer in self.layers

    def of(self, blocks: Sequence[Block], model: str) -> tuple[Block, ...]:
        """Return the selected parts of complete blocks.

        Args:
            model: the model's name, for messages.

        Raises:
            InvalidTrace: there is no such layer, head or query.
            ModelNotSupported: `store` is "vectors".
        """
        self.refuse_vectors(model)
        self.check([(block.layer, block.shape[0], len(block.query_tokens)) for block in blocks])
        kept = (block for block in blocks if self.keeps(block.layer))
        return tuple(selected(block, self.heads, self.queries) for block in kept)

    def check(self, layers: Iterable[tuple[int, int, int]]) -> None:
        """Raise for indices that a model or a text does not have.

        Args:
            layers: each layer's index, number of heads and number of queries.

        Raises:
            InvalidTrace: there is no such layer, head or query.
        """
        numbers, heads, queries = zip(*layers, strict=True)
        available = {"layers": sorted({*numbers}), "heads": range(min(heads)), "queries": range(min(queries))}
        for name, indices in available.items():
            missing = [number for number in getattr(self, name) or () if number not in indices]
            if missing:
                is_range = [*indices] == [*range(len(indices))]
                listed = f"0 to {len(indices) - 1}" if is_range else joined([*map(str, indices)])
                raise InvalidTrace(
                    f"{name} contains {missing[0]}; valid indices, counted from 0, are {listed}."
                )

    def tokens(self, queries: tuple[Token, ...]) -> tuple[Token, ...]:
        """Return the selected query tokens."""
        return queries if self.queries is None else tuple(queries[place] for place in self.queries)

    def refuse_vectors(self, model: str) -> None:
        """Refuse `store="vectors"` for a model with weights that cannot be computed from queries and keys.

        Raises:
            ModelNotSupported: `store` is "vectors".
        """
        if self.store == "vectors":
            raise ModelNotSupported(
                f'{quoted(model)} cannot be traced with store="vectors": attnviz has no rule for its masks '
                'and biases. Use store="weights"; select layers=, heads= and queries= to save memory.'
            )


EVERYTHING = Selection(store="weights")


def selection(
    layers: Numbers, heads: Numbers, queries: Numbers, store: Store, max_weight_bytes: SupportsIndex
) -> Selection:
    """Return a selection from a caller's arguments.

    Raises:
        AttnvizError: nothing is selected, an index is repeated, a number is negative, or `store` is unknown.
        TypeError: an index or `max_weight_bytes` is not an integer.
    """
    if store not in get_args(Store):
        raise AttnvizError(f"Unknown store {store!r:.30}; use one of {joined([*get_args(Store)])}.")
    if (limit := as_int(max_weight_bytes, "max_weight_bytes")) < 0:
        raise AttnvizError(f"max_weight_bytes must be 0 or more, not {limit}.")
    chosen = {"layers": layers, "heads": heads, "queries": queries}
    return Selection(
        **{name: _numbers(given, name) for name, given in chosen.items()}, store=store, max_weight_bytes=limit
    )


def _numbers(given: Numbers, name: str) -> tuple[int, ...] | None:
    if given is None:
        return None
    listed = given if isinstance(given, Iterable) else [given]
    found = tuple(as_int(number, name) for number in listed)
    if not found or min(found) < 0 or len({*found}) < len(found):
        raise AttnvizError(f"{name} must be one or more different indices from 0, not {found}.")
    return found
