"""What the chosen model itself does about order: its places compared, and its scores at other distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from attnviz.app.learn.positions.compute import Likeness, likeness
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.pictures import SeeingModel
from attnviz.capture.positions import Positions, Relative, Table, Turns, positions_of
from attnviz.capture.scratch import ScratchModel
from attnviz.capture.translator import TranslatorModel
from attnviz.trace import Block, Floats
from attnviz.trained.translator.reading import TOKEN_LIMIT
from attnviz.transformer.positions import sinusoidal

REACH = 64
"""How far apart two tokens are moved, if nothing else is said."""


def positions(name: str) -> Positions:
    """What the model of that name does about order.

    Raises:
        AttnvizError: there is no such model, or it tells places apart in a way that attnviz does not know.
    """
    model = loading.load(name)
    if isinstance(model, ScratchModel):
        learned = owned(model.bert.embeddings.positions.table.detach())
        return Positions((Table(None, learned, learned=True),))
    if isinstance(model, TranslatorModel):
        # Our translator writes the paper's formula down for each text anew; here as long as it reads.
        waves = owned(sinusoidal(TOKEN_LIMIT, model.translator.sizes.d_model))
        return Positions((Table("encoder", waves, learned=False), Table("decoder", waves, learned=False)))
    assert isinstance(model, HuggingFaceModel | SeeingModel)  # noqa: S101 - there is no other kind
    return positions_of(model.network)


def alike(table: Table, tokens: int) -> Likeness:
    """How alike the vectors of a table's places are.

    Args:
        table: of the model.
        tokens: for how many places from the first on each pair is compared.
    """
    return likeness(table.vectors, tokens)


@dataclass(frozen=True, eq=False)
class Directions:
    """How alike the vectors of a picture's patches are, by how far they are apart.

    Attributes:
        across: [distance], the mean cosine of two patches of a row.
        down: [distance], the mean cosine of two patches of a column.
    """

    across: Floats
    down: Floats


def directions(table: Table) -> Directions:
    """Compare the places of a picture's patches along its rows and along its columns.

    Raises:
        ValueError: it is the table of a text.
    """
    if table.grid is None:
        raise ValueError("A text has no rows and columns.")
    rows, columns = table.grid
    patches = table.vectors[-rows * columns :].reshape(rows, columns, -1)
    unit = patches / np.linalg.norm(patches, axis=-1, keepdims=True)

    def means(grid: Floats) -> Floats:
        """Of all pairs in a row, by their distance; the grid is [row, column, number]."""
        length = grid.shape[1]
        return np.array(
            [(grid[:, apart:] * grid[:, : length - apart]).sum(axis=-1).mean() for apart in range(length)],
            dtype=np.float32,
        )

    return Directions(means(unit), means(unit.transpose(1, 0, 2)))


@dataclass(frozen=True, eq=False)
class FromHere:
    """How alike the vector of each distance is to that of distance 0.

    Attributes:
        distances: [distance], key's place − query's place.
        cosines: [distance].
    """

    distances: Int[np.ndarray, " distance"]
    cosines: Floats


def from_here(relative: Relative) -> FromHere:
    """The vectors of a model's distances, compared with that of distance 0."""
    lengths = np.linalg.norm(relative.vectors, axis=-1)
    here = relative.vectors[relative.distances == 0][0]
    return FromHere(relative.distances, relative.vectors @ here / (lengths * np.linalg.norm(here)))


@dataclass(frozen=True, eq=False)
class Moved:
    """One score of a head that turns its queries and keys, were the key to stand elsewhere.

    Attributes:
        distances: [distance], key's place − query's place; none ahead where the model does not look ahead.
        scores: [distance].
    """

    distances: Int[np.ndarray, " distance"]
    scores: Floats


def moved(block: Block, turns: Turns, head: int, query: int, key: int, reach: int = REACH) -> Moved:
    """The score of a query and a key of a sentence, with the key turned on to every other distance.

    The model has turned both already; a turn by n places more is a turn by its own angles n times.

    Args:
        block: a layer of `turns.layers`.
        turns: how it turns.
        head, query, key: which of its scores, from 0.
        reach: how far apart the two are moved at most; a model of few tokens can have them no farther.
    """
    ahead = 0 if block.kind == "decoder" else reach
    distances = np.arange(-reach, ahead + 1)
    keys = np.broadcast_to(block.key[head, key], (len(distances), block.key.shape[-1]))
    there = turns.turned(keys, distances - (key - query))
    return Moved(distances, there @ block.query[head, query] * np.float32(block.scale))
