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
from attnviz.export.report.matrices import LargestWeights, Matrices, TokenView, matrices
from attnviz.text import in_order, isolated
from attnviz.trace import Floats, Kind, Patch, Trace, refuse_selected
from attnviz.widgets.tokens import shown_tokens

_MAX_QUOTED = 40  # characters

MAX_WEIGHTS = 5_000_000
"""Maximum number of weights in a report, in all layers, heads and kinds of attention; about 25 MB."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """The data of a page with one or several traces.

    Attributes:
        readings: JSON values, one object per trace.
        numbers: Gzipped float32: weights (NaN where masked), and divisors of rescaled rows.
    """

    readings: list[Facts]
    numbers: bytes


def contents(
    traces: Sequence[Trace],
    shown: Sequence[Matrices | LargestWeights] | None = None,
    minus: Trace | None = None,
) -> Contents:
    """Return the data that a page needs to show these traces.

    Args:
        shown: Matrices to show instead of all matrices of a single trace.
        minus: Trace that was subtracted from the single trace.

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
    order: tuple[Kind, ...] = ("cross", "decoder") if trace.pictures else ("encoder", "decoder", "cross")
    return [kind for kind in order if any(block.kind == kind for block in trace.blocks)]


def check_size(traces: Sequence[Trace], instead: str = "save the numbers as NPZ") -> None:
    """Raise an error early if there are too many weights for one file.

    Args:
        instead: Alternative to shortening the text, for the error message.

    Raises:
        AttnvizError: there are too many; the message states the approximate maximum length.
    """
    blocks = [block for trace in traces for block in trace.blocks]
    sizes = [len(b.query) * len(b.query_tokens) * len(b.key_tokens) for b in blocks]
    if (count := sum(sizes)) > MAX_WEIGHTS:
        longest = max(len(b.key_tokens) for b in blocks)
        # The number of weights grows with the square of the text's length.
        max_tokens = int(longest * (MAX_WEIGHTS / count) ** 0.5)
        raise AttnvizError(
            f"The file would contain {count:,} weights; the maximum of a report is {MAX_WEIGHTS:,}. "
            f"Shorten the text from {longest:,} tokens to about {max_tokens:,}, or {instead}."
        )


def named(model: str) -> str:
    """Return the displayed name of a model; for a folder, the name without its path."""
    path = Path(model)
    return path.name if path.is_absolute() or model.startswith((".", "~")) else model


def named_difference(trace: Trace, minus: Trace) -> str:
    """Return the name of a difference, such as "minilm “… narrow.” − minilm “… tired.”"."""
    words = [f"{each.text} {each.second or ''} {each.target or ''}".split() for each in (trace, minus)]
    start = _num_common(*words)
    end = _num_common(*(each[start:][::-1] for each in words))

    def side(each: Trace, text: list[str]) -> str:
        differs = shorten(" ".join(text[start : len(text) - end]), _MAX_QUOTED, placeholder=" …")
        quoted = f"“{'… ' if start else ''}{isolated(differs)}{' …' if end else ''}”"
        edits = f"with {', '.join(each.edits)}" if each.edits else ""
        return " ".join(filter(None, (named(each.model), quoted if words[0] != words[1] else "", edits)))

    return in_order(side(trace, words[0]), " − ", side(minus, words[1]))


def _num_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal leading words of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _add(numbers: bytearray, array: Floats) -> int:
    """Append an array as float32; return its offset, in numbers."""
    start = len(numbers) // 4
    numbers += array.astype("<f4").tobytes()
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
    """Return the pictures of a trace: the patches of each view, and the words' attention to them.

    In cross-attention, the positions of patches count on from those of the words.

    Args:
        of: Shown attention to patches; if it is pooled, so is the returned attention.
    """
    token_view = of.token_views["plain"] if isinstance(of, Matrices) and of.heading else None
    blocks, across = trace.of_kind(of.kind), of.kind == "cross"
    query_tokens, key_tokens = blocks[0].query_tokens, blocks[0].key_tokens
    first = len(query_tokens) if across else 0  # position of the first patch
    views: dict[tuple[int, int], dict[Patch, int]] = defaultdict(dict)
    for place, token in enumerate(key_tokens):
        if token.patch is not None and token.patch.picture < len(trace.pictures):
            views[token.patch[:2]][token.patch] = place
    words = {
        place: trace.text[token.start : token.end] or token.text
        for place, token in enumerate(query_tokens)
        if token.patch is None and (token_view is None or token_view.row_of(place) is not None)
    }
    found = []
    for (picture, _), patches in sorted(views.items()):
        in_order = sorted(patches)
        read = [*([] if across else words), *(patches[patch] for patch in in_order)]
        places = [*words, *(first + patches[patch] for patch in in_order)]
        if token_view and isinstance(of, Matrices):
            queries, keys = (
                [at for place in each if (at := side.index_of(place)) is not None]
                for side, each in ((token_view.queries, words), (token_view.keys, read))
            )
            rows = of.values[..., queries, :][..., keys]
        else:
            heads = [[block.rows(head, words)[:, read] for head in range(block.shape[0])] for block in blocks]
            rows = np.array(heads)
        if across:  # words do not attend to words
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
    """Return each text that the model read, split into its typed and generated parts."""
    all_texts = {"": trace.text, "read together with": trace.second, "the decoder reads": trace.target}
    texts = [text for text in all_texts.values() if text is not None]
    names = [name for name, text in all_texts.items() if text is not None]
    typed = [len(text) for text in texts]
    generating = next((block for block in trace.blocks if block.kind in ("decoder", "cross")), None)
    if generating and trace.written:
        tokens = generating.query_tokens[-trace.written :]
        # A special token has no position in the text.
        typed[-1] = next((token.start for token in tokens if not token.special), typed[-1])
    return [
        {"name": name, "typed": text[:end], "written": text[end:]}
        for name, text, end in zip(names, texts, typed, strict=True)
    ]


def _kind(of: Matrices | LargestWeights, numbers: bytearray) -> Facts:
    """Return the data of one kind of attention: its weights, and its shown tokens."""
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
        "token_views": {
            name: _token_view(token_view, numbers) for name, token_view in of.token_views.items()
        },
    }


def _largest(of: LargestWeights, numbers: bytearray) -> Facts:
    """Return the data of one layer of a long text: its largest weights and its blocks."""
    keys, weights = (np.stack([getattr(top, name) for top in of.top]) for name in ("keys", "weights"))
    blocks, hidden = (
        np.stack([getattr(each, name) for each in of.summaries]) for name in ("blocks", "hidden")
    )
    size = len(of.queries), len(of.keys)
    token_view = TokenView(of.queries, of.keys, range(size[0]), range(size[1]), None, (), of.explanation)
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
        "token_views": {"plain": _token_view(token_view, numbers)},
    }


def _token_view(token_view: TokenView, numbers: bytearray) -> Facts:
    return {
        "queries": shown_tokens(token_view.queries.groups),
        "keys": shown_tokens(token_view.keys.groups),
        "rows": list(token_view.rows),
        "columns": list(token_view.columns),
        "left": None if token_view.left is None else _add(numbers, token_view.left),
        "facts": list(token_view.facts),
        "explanation": token_view.explanation,
        "hidden": token_view.keys.hidden if token_view.left is not None else "",
    }
