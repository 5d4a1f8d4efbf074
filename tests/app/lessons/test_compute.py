"""What the Learn pages compute is kept for all visitors, so nobody can write into it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attnviz.app.lessons import compute
from attnviz.app.lessons.block import values as block
from attnviz.app.lessons.cause import values as cause
from attnviz.app.lessons.cross_attention import values as cross_attention
from attnviz.app.lessons.induction import values as induction
from attnviz.app.lessons.many_heads import values as many_heads
from attnviz.app.lessons.masks import values as masks
from attnviz.app.lessons.positions import values as positions
from attnviz.app.lessons.query_key_value import values as query_key_value
from attnviz.app.lessons.scale import values as scale
from attnviz.app.lessons.weighted_average import values as weighted_average
from attnviz.app.lessons.write import values as write

TEXT = "The dog was tired as it was old."
TRANSLATOR = "translator"

RESULTS: dict[str, Callable[[], Any]] = {
    "weighted average": lambda: weighted_average.average(TEXT, "Cosine", 1.0),
    "trained weights": lambda: weighted_average.trained_row(TEXT, 2),
    "variances": lambda: scale.variances((2, 3), 5, 0),
    "curves": lambda: scale.curves((1,), 2, 3, 0),
    "a real head": lambda: scale.in_bert(TEXT, 0, 0, 1),
    "six steps": lambda: query_key_value.walk(TEXT, 3, 1, 2),
    "shares": lambda: many_heads.at_token(TEXT, 3, 2, 12),
    "mask": lambda: masks.cells(masks.MaskChoice("causal"), 5),
    "mask read": lambda: masks.read("8-c-e", 3),
    "masked weights": lambda: masks.weights(
        compute.tokens("a b c"), masks.cells(masks.MaskChoice("causal"), 5), 0
    ),
    "reach": lambda: masks.reach(TEXT, TEXT.replace("dog", "cat")),
    "shuffle": lambda: positions.shuffle(TEXT, 1),
    "waves": lambda: positions.waves(3),
    "wave": lambda: positions.wave(0, 3),
    "shift": lambda: positions.shift(1, 2),
    "learned": positions.learned,
    "rotary": lambda: positions.rotary(TEXT, 0, 0, 1, 2),
    "alibi": lambda: positions.alibi(2),
    "crossing": lambda: cross_attention.cross(TEXT, "A cat."),
    "walk": lambda: block.walk(TEXT, 0, 0),
    "lengths": lambda: block.lengths(TEXT),
    "experiment": lambda: cause.experiment(TRANSLATOR, TEXT, cause.Row("encoder", 1, 0, 2)),
    "effects": lambda: cause.effects(TRANSLATOR, TEXT),
    "written in three ways": lambda: write.read((1, 5, 6, 7)),
    "said twice": lambda: induction.repeated(("lamp", "key", "map")),
    "copied": induction.measured,
    "copied after [START]": induction.measured_after_start,
}


def arrays(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Every array in a result, however deep."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple):
        for part in thing:
            yield from arrays(part)
    elif isinstance(thing, dict):
        yield from arrays(tuple(thing.values()))
    elif hasattr(thing, "__dataclass_fields__"):
        for name in thing.__dataclass_fields__:
            yield from arrays(getattr(thing, name, None))


@pytest.mark.parametrize("name", RESULTS)
def test_nobody_can_write_into_what_all_visitors_share(name: str) -> None:
    found = list(arrays(RESULTS[name]()))
    assert found
    assert not any(array.flags.writeable for array in found)
