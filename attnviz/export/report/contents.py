"""The contents of a report: the tokens, a description of each head, and the weights."""

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
"""Maximum number of weights in a report, over all layers, heads and kinds of attention (about 25 MB)."""

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """The data of a page with one or more traces.

    Attributes:
        traces: One JSON object per trace.
        numbers: Gzipped float32 values, such as weights (NaN where masked) and, for each row, the fraction of
            its weight on displayed tokens.
    """

    traces: list[JsonObject]
    numbers: bytes


def contents(
    traces: Sequence[Trace],
    shown: Sequence[Matrices | LargestWeights] | None = None,
    minus: Trace | None = None,
) -> Contents:
    """Return the data of a page that shows these traces.

    Args:
        shown: Matrices to show; None for all matrices of each trace.
        minus: Trace that was subtracted; `traces` then has one item.

    Raises:
        AttnvizError: there is no trace, or there are too many weights for one file.
    """
    if not traces:
        raise AttnvizError("There is no trace to show. Pass at least one trace.")
    if shown is None:
        check_size(traces)
    for trace in traces:
        refuse_selected(trace)
    numbers = bytearray()
    objects = [
        _trace_object(trace, shown or [matrices(trace, kind) for kind in kinds_of(trace)], numbers)
        for trace in traces
    ]
    if minus:
        first, [trace] = objects[0], traces
        first["difference"] = difference_name(trace, minus)
        first["texts"] += [
            each | {"name": "minus the weights for"} for each in _texts(minus) if each not in first["texts"]
        ]
    # No timestamp, so that equal traces give equal files.
    return Contents(objects, gzip.compress(bytes(numbers), 6, mtime=0))


def kinds_of(trace: Trace) -> list[Kind]:
    """Return the kinds of attention of a trace, without "vision", in the order in which they are shown."""
    order: tuple[Kind, ...] = ("cross", "decoder") if trace.pictures else ("encoder", "decoder", "cross")
    return [kind for kind in order if any(block.kind == kind for block in trace.blocks)]


def check_size(traces: Sequence[Trace], instead: str = "save the numbers as NPZ") -> None:
    """Check that there are not too many weights for one file.

    Args:
        instead: Alternative to shortening the text, for the error message.

    Raises:
        AttnvizError: there are too many weights; the message states the approximate maximum length.
    """
    blocks = [block for trace in traces for block in trace.blocks]
    sizes = [len(b.query) * len(b.query_tokens) * len(b.key_tokens) for b in blocks]
    if (count := sum(sizes)) > MAX_WEIGHTS:
        longest = max(len(b.key_tokens) for b in blocks)
        # The number of weights grows with the square of the text's length.
        max_tokens = int(longest * (MAX_WEIGHTS / count) ** 0.5)
        raise AttnvizError(
            f"The file would contain {count:,} weights; a report can have at most {MAX_WEIGHTS:,}. "
            f"Shorten the text from {longest:,} tokens to about {max_tokens:,}, or {instead}."
        )


def display_name(model: str) -> str:
    """Return a model's name for display; for a folder, without its path."""
    path = Path(model)
    return path.name if path.is_absolute() or model.startswith((".", "~")) else model


def difference_name(trace: Trace, minus: Trace) -> str:
    """Return the name of a difference, such as "minilm “… narrow.” − minilm “… tired.”"."""
    words = [f"{each.text} {each.second or ''} {each.target or ''}".split() for each in (trace, minus)]
    start = _num_common(*words)
    end = _num_common(*(each[start:][::-1] for each in words))

    def side(each: Trace, text: list[str]) -> str:
        differs = shorten(" ".join(text[start : len(text) - end]), _MAX_QUOTED, placeholder=" …")
        quoted = f"“{'… ' if start else ''}{isolated(differs)}{' …' if end else ''}”"
        edits = f"with {', '.join(each.edits)}" if each.edits else ""
        parts = (display_name(each.model), quoted if words[0] != words[1] else "", edits)
        return " ".join(filter(None, parts))

    return in_order(side(trace, words[0]), " − ", side(minus, words[1]))


def _num_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal leading words of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _add(numbers: bytearray, array: Floats) -> int:
    """Append an array as float32; return its offset in float32 values."""
    start = len(numbers) // 4
    numbers += array.astype("<f4").tobytes()
    return start


def _trace_object(trace: Trace, shown: Sequence[Matrices | LargestWeights], numbers: bytearray) -> JsonObject:
    return {
        "model": display_name(trace.model),
        "weights_only": all(block.weights_alone for block in trace.blocks),
        "show_kind": trace.target is not None,
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


def _pictures(trace: Trace, shown: Matrices | LargestWeights, numbers: bytearray) -> list[JsonObject]:
    """Return the pictures of a trace: the patches of each view, and the words' attention to them.

    In cross-attention, patches are numbered after the words.

    Args:
        shown: Attention to patches; if it is pooled, the returned attention is pooled too.
    """
    token_view = shown.token_views["plain"] if isinstance(shown, Matrices) and shown.heading else None
    blocks, across = trace.of_kind(shown.kind), shown.kind == "cross"
    query_tokens, key_tokens = blocks[0].query_tokens, blocks[0].key_tokens
    first = len(query_tokens) if across else 0  # added to the position of each key
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
        ordered = sorted(patches)
        read = [*([] if across else words), *(patches[patch] for patch in ordered)]
        places = [*words, *(first + patches[patch] for patch in ordered)]
        if token_view and isinstance(shown, Matrices):
            queries, keys = (
                [at for place in each if (at := side.index_of(place)) is not None]
                for side, each in ((token_view.queries, words), (token_view.keys, read))
            )
            rows = shown.values[..., queries, :][..., keys]
        else:
            heads = [[block.rows(head, words)[:, read] for head in range(block.shape[0])] for block in blocks]
            rows = np.array(heads)
        if across:  # in cross-attention, words attend only to patches
            rows = np.pad(rows, [(0, 0)] * 3 + [(len(words), 0)], constant_values=np.nan)
        lefts, tops, rights, bottoms = zip(*(patch.box for patch in ordered), strict=True)
        found.append(
            {
                "kind": shown.kind,
                "src": f"data:image/png;base64,{base64.b64encode(trace.pictures[picture]).decode()}",
                "box": [min(lefts), min(tops), max(rights), max(bottoms)],
                "rows": 1 + ordered[-1].row,
                "columns": 1 + ordered[-1].column,
                "places": places,
                "weights": _add(numbers, rows),  # [layer, head, word, place]
                "names": [*words.values()],
            }
        )
    return found


def _texts(trace: Trace) -> list[JsonObject]:
    """Return each text that the model read, split into its typed and generated parts."""
    all_texts = {"": trace.text, "second text": trace.second, "decoder text": trace.target}
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


def _kind(shown: Matrices | LargestWeights, numbers: bytearray) -> JsonObject:
    """Return the data of one kind of attention: its weights, and its shown tokens."""
    if isinstance(shown, LargestWeights):
        return _largest(shown, numbers)
    return {
        "kind": shown.kind,
        "layers": list(shown.layers),
        "heads": shown.values.shape[1],
        "size": shown.values.shape[2:],
        "top": None,
        "weights": _add(numbers, np.where(shown.mask[:, None], shown.values, np.nan)),
        "spread": None if shown.spread is None else [_add(numbers, each) for each in shown.spread],
        "heading": shown.heading,
        "signed": shown.signed,
        "high": shown.high,
        "token_views": {
            name: _token_view(token_view, numbers) for name, token_view in shown.token_views.items()
        },
    }


def _largest(shown: LargestWeights, numbers: bytearray) -> JsonObject:
    """Return the data of one layer of a long text: its largest weights, and the blocks of the overview."""
    keys, weights = (np.stack([getattr(top, name) for top in shown.top]) for name in ("keys", "weights"))
    blocks, hidden = (
        np.stack([getattr(each, name) for each in shown.summaries]) for name in ("blocks", "hidden")
    )
    size = len(shown.queries), len(shown.keys)
    token_view = TokenView(
        shown.queries, shown.keys, range(size[0]), range(size[1]), None, (), shown.explanation
    )
    return {
        "kind": shown.kind,
        "layers": [shown.layer],
        "heads": len(shown.top),
        "size": size,
        "top": {
            "count": keys.shape[2],
            "keys": _add(numbers, keys),
            "weights": _add(numbers, weights),
            "blocks": _add(numbers, blocks),
            "hidden": _add(numbers, hidden),
            "causal": shown.kind == "decoder",
        },
        "weights": 0,
        "spread": None,
        "heading": "",
        "signed": False,
        "high": 1.0,
        "token_views": {"plain": _token_view(token_view, numbers)},
    }


def _token_view(token_view: TokenView, numbers: bytearray) -> JsonObject:
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
