"""The contents of a report: the tokens, a description of each head, and every weight."""

from __future__ import annotations

import base64
import gzip
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from attnviz.errors import AttnvizError
from attnviz.export.report.matrices import LargestWeights, Matrices, Way, matrices
from attnviz.text import in_order, isolated
from attnviz.trace import Floats, Kind, Patch, Trace, refuse_selected
from attnviz.widgets.tokens import shown_tokens

_MAX_QUOTED = 40  # characters of a text in a name

MAX_WEIGHTS = 5_000_000
"""Maximum number of weights in a report, over all layers, heads and kinds: about 25 MB."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """One or several traces, ready for a page.

    Attributes:
        readings: JSON values, one object per trace.
        numbers: Gzipped float32: weights (NaN where masked), and the divisors of rows.
    """

    readings: list[Facts]
    numbers: bytes


def contents(
    traces: Sequence[Trace],
    shown: Sequence[Matrices | LargestWeights] | None = None,
    minus: Trace | None = None,
) -> Contents:
    """Return all data that a page needs to show these traces.

    Args:
        shown: Matrices to show instead of all matrices of a single trace.
        minus: Trace that was subtracted from the single one.

    Raises:
        AttnvizError: there is no trace, or there are too many weights for one file.
    """
    if not traces:
        raise AttnvizError("A page needs at least one trace.")
    if shown is None:
        check_size(traces)
    for trace in traces:
        refuse_selected(trace)
    numbers = bytearray()
    readings = [
        _reading(trace, shown or [matrices(trace, kind) for kind in kinds_of(trace)], numbers)
        for trace in traces
    ]
    if minus:
        reading, [text] = readings[0], traces
        reading["difference"] = named_difference(text, minus)
        reading["texts"] += [
            each | {"name": "minus the same of"} for each in _texts(minus) if each not in reading["texts"]
        ]
    # No time stamp: the same trace gives the same file.
    return Contents(readings, gzip.compress(bytes(numbers), 6, mtime=0))


def kinds_of(trace: Trace) -> list[Kind]:
    """Return the kinds of attention of a trace, in the order of computation."""
    every: tuple[Kind, ...] = ("cross", "decoder") if trace.pictures else ("encoder", "decoder", "cross")
    return [kind for kind in every if any(block.kind == kind for block in trace.blocks)]


def check_size(traces: Sequence[Trace], instead: str = "save the numbers as NPZ") -> None:
    """Raise early if there are too many weights for one file.

    Args:
        instead: Alternative to shortening the text, for the message.

    Raises:
        AttnvizError: there are too many; the message has the maximum length.
    """
    blocks = [block for trace in traces for block in trace.blocks]
    sizes = [len(b.query) * len(b.query_tokens) * len(b.key_tokens) for b in blocks]
    if (count := sum(sizes)) > MAX_WEIGHTS:
        longest = max(len(b.key_tokens) for b in blocks)
        # The number of weights grows with the square of the text's length.
        enough = int(longest * (MAX_WEIGHTS / count) ** 0.5)
        raise AttnvizError(
            f"This would be a file of {count:,} weights; a report holds at most {MAX_WEIGHTS:,}. "
            f"Shorten the text from {longest:,} tokens to about {enough:,}, or {instead}."
        )


def named(model: str) -> str:
    """Return the model's name on the page, without the path of a folder."""
    path = Path(model)
    return path.name if path.is_absolute() or model.startswith((".", "~")) else model


def named_difference(trace: Trace, minus: Trace) -> str:
    """Name a difference: "minilm “… narrow.” − minilm “… tired.”", "minilm with encoder 1-1 − minilm"."""
    words = [f"{each.text} {each.second or ''} {each.target or ''}".split() for each in (trace, minus)]
    start = _same(*words)
    end = _same(*(each[start:][::-1] for each in words))

    def side(each: Trace, text: list[str]) -> str:
        differs = shorten(" ".join(text[start : len(text) - end]), _MAX_QUOTED, placeholder=" …")
        quoted = f"“{'… ' if start else ''}{isolated(differs)}{' …' if end else ''}”"
        edits = f"with {', '.join(each.edits)}" if each.edits else ""
        return " ".join(filter(None, (named(each.model), quoted if words[0] != words[1] else "", edits)))

    return in_order(side(trace, words[0]), " − ", side(minus, words[1]))


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of leading words that two texts share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _add(numbers: bytearray, more: Floats) -> int:
    """Append an array as float32; return the index of its first number."""
    start = len(numbers) // 4
    numbers += more.astype("<f4").tobytes()
    return start


def _reading(trace: Trace, shown: Sequence[Matrices | LargestWeights], numbers: bytearray) -> Facts:
    return {
        "model": named(trace.model),
        "given": all(block.weights_alone for block in trace.blocks),
        "names_kinds": trace.target is not None,
        "texts": _texts(trace),
        "edits": list(trace.edits),
        "difference": "",
        "pictures": []
        if shown[0].kind not in ("decoder", "cross") or (isinstance(shown[0], Matrices) and shown[0].signed)
        else _pictures(trace, shown[0], numbers),
        "kinds": [_kind(each, numbers) for each in shown],
    }


def without_vision(trace: Trace) -> Trace:
    """Return the trace without the attention of its vision encoder."""
    return replace(trace, blocks=tuple(block for block in trace.blocks if block.kind != "vision"))


def _pictures(trace: Trace, of: Matrices | LargestWeights, numbers: bytearray) -> list[Facts]:
    """Return the pictures read with a text: the patches of each view, and the words' attention to them.

    Args:
        of: Shown attention to patches; if pooled, the words' attention is pooled too. Cross-attention to
            patches has its own positions after the words.
    """
    way = of.ways["plain"] if isinstance(of, Matrices) and of.heading else None
    blocks, across = trace.of_kind(of.kind), of.kind == "cross"
    asking, tokens = blocks[0].query_tokens, blocks[0].key_tokens
    behind = len(asking) if across else 0
    views: dict[tuple[int, int], dict[Patch, int]] = defaultdict(dict)
    for place, token in enumerate(tokens):
        if token.patch is not None and token.patch.picture < len(trace.pictures):
            views[token.patch[:2]][token.patch] = place
    words = {
        place: trace.text[token.start : token.end] or token.text
        for place, token in enumerate(asking)
        if token.patch is None and (way is None or way.row_of(place) is not None)
    }
    found = []
    for (picture, _), patches in sorted(views.items()):
        in_order = sorted(patches)
        read = [*([] if across else words), *(patches[patch] for patch in in_order)]
        places = [*words, *(behind + patches[patch] for patch in in_order)]
        if way and isinstance(of, Matrices):
            queries, keys = (
                [at for place in each if (at := side.index_of(place)) is not None]
                for side, each in ((way.queries, words), (way.keys, read))
            )
            rows = of.values[..., queries, :][..., keys]
        else:
            heads = [[block.rows(head, words)[:, read] for head in range(block.shape[0])] for block in blocks]
            rows = np.array(heads)
        if across:  # its attention to other words is 0
            rows = np.pad(rows, [(0, 0)] * 3 + [(len(words), 0)], constant_values=np.nan)
        lefts, tops, rights, bottoms = zip(*(patch.box for patch in in_order), strict=True)
        found.append(
            {
                "kind": of.kind,
                "src": f"data:image/png;base64,{base64.b64encode(trace.pictures[picture]).decode()}",
                "box": [min(lefts), min(tops), max(rights), max(bottoms)],
                "rows": 1 + in_order[-1].row,
                "columns": 1 + in_order[-1].column,
                "places": places,
                "weights": _add(numbers, rows),  # [layer, head, word, place]
                "names": [*words.values()],
            }
        )
    return found


def _texts(trace: Trace) -> list[Facts]:
    """Return each text that the model read, as typed and generated parts."""
    given = {"": trace.text, "read together with": trace.second, "the decoder reads": trace.target}
    texts = [text for text in given.values() if text is not None]
    names = [name for name, text in given.items() if text is not None]
    typed = [len(text) for text in texts]
    writer = next((block for block in trace.blocks if block.kind in ("decoder", "cross")), None)
    if writer and trace.written:
        tokens = writer.query_tokens[-trace.written :]
        # A special token has no position in the text.
        typed[-1] = next((token.start for token in tokens if not token.special), typed[-1])
    return [
        {"name": name, "typed": text[:end], "written": text[end:]}
        for name, text, end in zip(names, texts, typed, strict=True)
    ]


def _kind(of: Matrices | LargestWeights, numbers: bytearray) -> Facts:
    """Return the data of one kind of attention: its layers, and the ways to show its tokens."""
    if isinstance(of, LargestWeights):
        return _largest(of, numbers)
    return {
        "kind": of.kind,
        "layers": list(of.layers),
        "heads": of.values.shape[1],
        "size": of.values.shape[2:],
        "top": None,
        "weights": _add(numbers, np.where(of.mask[:, None], of.values, np.nan)),
        "spread": None if of.spread is None else [_add(numbers, each) for each in of.spread],
        "heading": of.heading,
        "signed": of.signed,
        "high": of.high,
        "ways": {name: _way(way, numbers) for name, way in of.ways.items()},
    }


def _largest(of: LargestWeights, numbers: bytearray) -> Facts:
    """Return the data of one layer of a long text."""
    keys, weights = (np.stack([getattr(top, name) for top in of.top]) for name in ("keys", "weights"))
    blocks, hidden = (
        np.stack([getattr(each, name) for each in of.summaries]) for name in ("blocks", "hidden")
    )
    size = len(of.queries), len(of.keys)
    way = Way(of.queries, of.keys, range(size[0]), range(size[1]), None, (), of.explanation)
    return {
        "kind": of.kind,
        "layers": [of.layer],
        "heads": len(of.top),
        "size": size,
        "top": {
            "count": keys.shape[2],
            "keys": _add(numbers, keys),
            "weights": _add(numbers, weights),
            "blocks": _add(numbers, blocks),
            "hidden": _add(numbers, hidden),
            "causal": of.kind == "decoder",
        },
        "weights": 0,
        "spread": None,
        "heading": "",
        "signed": False,
        "high": 1.0,
        "ways": {"plain": _way(way, numbers)},
    }


def _way(way: Way, numbers: bytearray) -> Facts:
    return {
        "queries": shown_tokens(way.queries.groups),
        "keys": shown_tokens(way.keys.groups),
        "rows": list(way.rows),
        "columns": list(way.columns),
        "left": None if way.left is None else _add(numbers, way.left),
        "facts": list(way.facts),
        "explanation": way.explanation,
        "hidden": way.keys.hidden if way.left is not None else "",
    }
