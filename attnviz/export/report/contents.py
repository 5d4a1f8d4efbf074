"""The contents of a report: the tokens, what each head does, and every weight."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.behaviour import facts as describe
from attnviz.analysis.display_tokens import (
    DisplayTokens,
    faint_rows,
    left_share,
    queries_and_keys,
    shown_weights,
)
from attnviz.errors import AttnvizError
from attnviz.trace import Floats, Kind, Token, Trace, refuse_selected
from attnviz.widgets.tokens import shown_tokens

MAX_WEIGHTS = 5_000_000
"""The limit of weights in one report, over all layers, heads and kinds: a file of some 25 MB."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """One or several traces, ready for a page.

    Attributes:
        readings: plain JSON values, one for each trace.
        numbers: gzip of float32: the weights, NaN where masked, and what rows are divided by.
    """

    readings: list[Facts]
    numbers: bytes


def contents(traces: Sequence[Trace]) -> Contents:
    """Everything that a page needs to show these traces.

    Raises:
        AttnvizError: there is no trace, or there are too many weights for one file.
    """
    if not traces:
        raise AttnvizError("A page needs at least one trace.")
    check_size(traces)
    for trace in traces:
        refuse_selected(trace)
    numbers = bytearray()
    readings = [_reading(trace, numbers) for trace in traces]
    # No time stamp: the same trace gives the same file.
    return Contents(readings, gzip.compress(bytes(numbers), 6, mtime=0))


def kinds_of(trace: Trace) -> list[Kind]:
    """The kinds of attention that a trace has, as its signals meet them."""
    every: tuple[Kind, ...] = ("encoder", "decoder", "cross")
    return [kind for kind in every if any(block.kind == kind for block in trace.blocks)]


def check_size(traces: Sequence[Trace], instead: str = "save the numbers as NPZ") -> None:
    """Look, before anything slow is done, whether there are few enough weights for one file.

    Args:
        instead: what else to do than to shorten the text.

    Raises:
        AttnvizError: there are too many; the message has the maximum length.
    """
    blocks = [block for trace in traces for block in trace.blocks]
    sizes = [len(b.query) * len(b.query_tokens) * len(b.key_tokens) for b in blocks]
    if (count := sum(sizes)) > MAX_WEIGHTS:
        longest = max(len(b.key_tokens) for b in blocks)
        # The weights grow with the square of the text.
        enough = int(longest * (MAX_WEIGHTS / count) ** 0.5)
        raise AttnvizError(
            f"This would be a file of {count:,} weights; a report holds at most {MAX_WEIGHTS:,}. "
            f"Shorten the text from {longest:,} tokens to about {enough:,}, or {instead}."
        )


def named(model: str) -> str:
    """The model's name on the page; without the path of a folder."""
    path = Path(model)
    return path.name if path.is_absolute() or model.startswith((".", "~")) else model


def _add(numbers: bytearray, more: Floats) -> int:
    """Append an array as float32; return the index of its first number."""
    start = len(numbers) // 4
    numbers += more.astype("<f4").tobytes()
    return start


def _reading(trace: Trace, numbers: bytearray) -> Facts:
    return {
        "model": named(trace.model),
        "given": all(block.weights_alone for block in trace.blocks),
        "names_kinds": trace.target is not None,
        "texts": _texts(trace),
        "sees": any(_sees(block.key_tokens) for block in trace.blocks),
        "edits": list(trace.edits),
        "kinds": [_kind(trace, kind, numbers) for kind in kinds_of(trace)],
    }


def _texts(trace: Trace) -> list[Facts]:
    """Every text that was read: what was typed of it, and what the model wrote itself."""
    given = {"": trace.text, "read together with": trace.second, "the decoder reads": trace.target}
    texts = [text for text in given.values() if text is not None]
    names = [name for name, text in given.items() if text is not None]
    typed = [len(text) for text in texts]
    writer = next((block for block in trace.blocks if block.kind != "encoder"), None)
    if writer and trace.written:
        tokens = writer.query_tokens[-trace.written :]
        # A special token has no place in the text.
        typed[-1] = next((token.start for token in tokens if not token.special), typed[-1])
    return [
        {"name": name, "typed": text[:end], "written": text[end:]}
        for name, text, end in zip(names, texts, typed, strict=True)
    ]


def _sees(tokens: Sequence[Token]) -> bool:
    """Whether these are the patches of a picture: named "row,column", without characters."""
    patches = [token for token in tokens if not token.special]
    named = all(re.fullmatch(r"[1-9]\d*,[1-9]\d*", token.text) for token in patches)
    return bool(patches) and named and not any(token.end for token in patches)


def _kind(trace: Trace, kind: Kind, numbers: bytearray) -> Facts:
    """One kind of attention: its layers, and the two ways in which its tokens are shown."""
    blocks = trace.of_kind(kind)
    stack = np.stack([block.weights for block in blocks])
    shown = ways(trace, kind)
    left = {name: None if name == "plain" else left_share(stack, *way) for name, way in shown.items()}
    masked = np.stack([np.where(block.mask, block.weights, np.nan) for block in blocks])
    return {
        "kind": kind,
        "layers": [block.layer + 1 for block in blocks],
        "heads": stack.shape[1],
        "size": stack.shape[2:],
        "weights": _add(numbers, masked),
        "ways": {
            name: {
                "queries": shown_tokens(way[0].groups),
                "keys": shown_tokens(way[-1].groups),
                "rows": way[0].visible,
                "columns": way[-1].visible,
                "left": None if (rest := left[name]) is None else _add(numbers, rest),
                "facts": [
                    f"on average {fact}" for fact in describe(shown_weights(stack, *way), *way, left=rest)
                ],
                "explanation": f"{_explanation(way)}{faint_rows(way[-1].hidden)}",
                "hidden": way[-1].hidden,
            }
            for name, way in shown.items()
        },
    }


def _explanation(way: Sequence[DisplayTokens]) -> str:
    """How the weights were made from the model's, where queries and keys may be of two texts."""
    queries, keys = way[0].explanation_of_scores, way[-1].explanation  # rows are rescaled by their keys
    return keys if len(way) == 1 or queries == keys else f"queries: {queries}; keys: {keys}"


def ways(trace: Trace, kind: Kind) -> dict[str, tuple[DisplayTokens, ...]]:
    """How the tokens can be shown: "plain" and, where special ones can be hidden, "hidden".

    Returns:
        the queries and the keys of each; one for both where they are the same tokens.
    """
    plain = queries_and_keys(trace, kind)
    try:
        hidden = queries_and_keys(trace, kind, hide_special=True)
    except AttnvizError:  # nothing but special tokens
        hidden = plain
    return {"plain": plain, "hidden": hidden} if any(side.hides for side in hidden) else {"plain": plain}
