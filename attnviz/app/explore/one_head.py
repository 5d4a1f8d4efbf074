"""One head (or several of a layer) as lines, as a matrix to click, or as a heatmap to zoom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens, faint_note, hidden_note
from attnviz.analysis.picture import Scale, diverging, sequential
from attnviz.analysis.sentence import changed_keys, name_of, strongest_keys
from attnviz.analysis.stages import window
from attnviz.analysis.window import MAX_CELLS
from attnviz.app import markdown, traces
from attnviz.app.components import store
from attnviz.app.components.head_view import head_view
from attnviz.app.explore import attention, long_head, views
from attnviz.app.explore.choices import ALONE, Heads, Shown, open_heads
from attnviz.app.explore.linking import Tokens
from attnviz.app.explore.pooled import Pooled, pooled
from attnviz.app.explore.published import PublishedArrays
from attnviz.app.explore.views import WEIGHTS, View
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, with_sentence
from attnviz.app.state.choices import SUM
from attnviz.app.traces import EVERYWHERE
from attnviz.capture.model import ModelInput
from attnviz.text import isolated
from attnviz.widgets.tokens import shown_tokens

_MAX_LISTED = 3  # tokens named in the sentence
_SCALES: dict[Scale, str] = {
    "shared": "one colour scale for all heads",
    "per head": "each head has its own colour scale",
}
_CAPTION = 300  # maximum length of a sentence in a caption


def title(view: View, heads: Heads, shown: Shown) -> str:
    """The picture's name."""
    return heads.title if shown.heads == ALONE else pooled(view, heads, shown.heads).heading


def draw(view: View, heads: Heads, tokens: Tokens, shown: Shown, sent: PublishedArrays) -> None:
    """Draw the open heads and their sentence in words."""
    if shown.style == "Heatmap":
        _heatmap(view, heads)
        if tokens.pair:
            st.markdown(in_words(view, heads, tokens.pair.query))
    else:
        _widget(view, heads, tokens, shown, sent)
    block = traces.trace(view.model, view.given).block(view.kind, heads.layer - 1)
    if view.kind != "cross" and (seen := window(block.mask)):
        st.markdown(f":small[In layer {heads.layer} a token sees {_reach(*seen)}.]")


def _reach(before: int, after: int) -> str:
    sides = [f"the {count} {side} it" for count, side in ((before, "before"), (after, "after")) if count]
    return " and ".join(["itself only" if not sides else "itself", *sides])


def in_words(view: View, heads: Heads, query: int) -> str:
    """Return the picture's sentence, in Markdown: "`it` attends to `dog` **66 %**, `road` **12 %**"."""
    numbers = views.values(view)[heads.layer - 1, heads.head - 1]
    left = float(views.left(view)[heads.layer - 1, heads.head - 1, query])
    queries, keys = views.groups(view)
    name = markdown.token(query, queries)
    entries = hidden_note(left, views.hidden(view))
    end = f" ({markdown.plain(entries)})." if entries else "."
    where = f"In head {heads.name},"
    if view.stage != WEIGHTS:
        order = np.argsort(-numbers[query], kind="stable")[:_MAX_LISTED]
        found = [
            (name_of(int(key), keys), float(numbers[query, key]))
            for key in order
            if np.isfinite(numbers[query, key])
        ]
        return f"{where} {name} is highest with {_listed(view, found)}{end}"
    if view.changed is None:
        listed = strongest_keys(numbers, query, queries, keys, maximum=_MAX_LISTED)
        return f"{where} {name} attends to {_listed(view, listed)}{end}"
    if not np.isfinite(numbers[query]).any():
        return f"{name} is in one of the two sentences only."
    moved = changed_keys(numbers, query, queries, keys)
    found = [move for move in (moved.gain, moved.loss) if move]
    how = f"changes most at {_listed(view, found)}" if found else "has the same values in both sentences"
    return f"{where} {name} {how}{end}"


def _listed(view: View, found: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{markdown.code(name)} **{views.written(view, number)}**" for name, number in found)


def explanation(view: View) -> str:
    """Return how the shown numbers were computed from the model's, in words."""
    entries = [
        _explanation(view, traces.shown(view.model, given, view.kind, view.hide, view.merge, view.between))
        for given in filter(None, (view.given, view.changed))
    ]
    # Of two sentences, only one may have pieces to merge.
    whole = (
        entries[0]
        if len(set(entries)) == 1
        else f"first sentence: {entries[0]}; second sentence: {entries[1]}"
    )
    return f"{whole}; points are percentage points" if view.unit == "signed percent" else whole


def _explanation(view: View, tokens: Sequence[DisplayTokens]) -> str:
    """Return the same for one sentence, with queries and keys from one or two texts."""
    queries, keys = tokens[0].explanation_of_scores, tokens[-1].explanation_of_scores
    if view.stage == WEIGHTS:
        keys = tokens[-1].explanation  # rows are rescaled by the fraction on their shown keys
    return keys if len(tokens) == 1 or queries == keys else f"queries: {queries}; keys: {keys}"


def caption(view: View, heads: Heads) -> str:
    """Return the caption of a saved picture of heads."""
    open_heads = ", ".join(f"{heads.layer}-{head}" for head in heads.all)
    head = f"{attention.of(view.model, view.kind)}head {open_heads}"
    return f"{_read(view)} · {head} · {view.stage}"


def _read(view: View) -> str:
    """Return the sentence, or both compared sentences, and the model."""
    first, second = (_quoted(view, given) if given else "" for given in (view.given, view.changed))
    sentence = first if view.changed is None else f"{first} → {second} (change)"
    return f"{sentence} · {lookup.called(view.model)}"


def _quoted(view: View, given: ModelInput) -> str:
    """Return the text and a sentence pair's second text, or in decoder attention the decoder's text."""
    read = traces.trace(view.model, given)
    target = None if view.kind == "encoder" else read.target
    texts = (read.text, read.second, target)
    return " / ".join(f"“{isolated(_begin(text))}”" for text in texts if text is not None)


def _begin(text: str) -> str:
    return text if len(text) <= _CAPTION else text[:_CAPTION] + "…"


def file_name(view: View, heads: Heads) -> str:
    """Return a file name without extension: model, heads, stage."""
    parts = [
        *attention.of(view.model, view.kind).split(),
        f"layer{heads.layer}",
        *(f"head{head}" for head in heads.all),
        view.stage.replace(" ", "-"),
    ]
    parts += [
        part
        for part, present in (
            (view.between.replace("→", "-to-"), view.between != EVERYWHERE),
            ("change", view.changed),
            ("hidden", view.hide),
            ("merged", view.merge),
        )
        if present
    ]
    return "-".join([file_name_of(lookup.called(view.model)), *parts])


def _widget(view: View, heads: Heads, tokens: Tokens, shown: Shown, sent: PublishedArrays) -> None:
    queries, keys = views.groups(view)
    how: Literal["lines", "matrix"] = "lines" if shown.style == "Lines" else "matrix"
    query = tokens.pair.query if tokens.pair and not shown.queries else None

    def picked(at: int | None, to: int | None) -> None:
        SUM.set([])
        tokens.choose(at, to)

    key = tokens.pair.key if tokens.pair and tokens.pair.key_is_chosen else None
    explained = f"{explanation(view)}{faint_note(views.hidden(view))}"
    texts: dict[str, Any] = {
        "note": f"{_SCALES[view.scale]}; {explained}",
        "caption": caption(view, heads),
        "together": shown.queries,
        "filename": f"{file_name(view, heads)}-{shown.style.lower()}",
    }
    heads_total, pixels, exact = views.values(view).shape[1], sent.pixels, sent.exact
    one = None if shown.heads == ALONE else pooled(view, heads, shown.heads)
    if one:
        heads, heads_total = Heads(heads.layer, 1, ()), 0
        texts |= {
            "heading": one.heading,
            "note": f"{one.heading}; {explained}",
            "caption": f"{_read(view)} · {one.heading} · weights",
            "filename": f"{texts['filename']}-{shown.heads.lower().replace(' ', '-')}",
        }
    if max(len(queries), len(keys)) > MAX_CELLS:
        source = long_head.of_view(view, heads.layer)
        if one:
            source = long_head.of_matrix(source, one.values, one.high if view.signed else 1.0)
        long_head.draw(source, heads, heads_total, how, query, key, picked, **texts)
        return
    if one:
        pixels, exact = _send(view, heads, one)
    head_view(
        "one head",
        pixels=pixels,
        exact=exact,
        view=how,
        layer=heads.layer,
        heads=heads.all,
        heads_total=heads_total,
        query_tokens=shown_tokens(queries),
        key_tokens=shown_tokens(keys),
        query=query,
        key=key,
        kind=views.drawn(view).kind,
        unit=view.unit,
        on_pick=picked,
        on_heads=open_heads,
        **texts,
    )


def _send(view: View, heads: Heads, one: Pooled) -> tuple[str, str]:
    """Send one combined picture of many heads; return the store ids of the arrays."""
    names, high = [[heads.layer, 1]], one.high if view.signed else 1.0
    mask = np.isfinite(one.values)
    cells = np.where(mask, one.values, 0)
    drawn = diverging(cells, mask=mask, end=high) if view.signed else sequential(cells, mask=mask)
    arrays = {name: getattr(one, name)[None] for name in ("values", "lowest", "highest")}
    return (
        store.publish("pool pixels", {"pixels": drawn.levels[None]}, heads=names, high=[high]),
        store.publish("pool exact", arrays, heads=names),
    )


def _heatmap(view: View, heads: Heads) -> None:
    # Loaded on request: Plotly is 4.7 MB in the browser and takes a second on the server.
    from attnviz.export.heatmap import config, heatmap, heatmap_alt

    queries, keys = ([group.label for group in side] for side in views.groups(view))
    [numbers] = views.readable(view, heads.layer, [heads.head])
    left = views.left(view)[heads.layer - 1, heads.head - 1]
    drawn = views.drawn(view)
    high = float(drawn.high[heads.layer - 1, heads.head - 1])
    if heads.also:
        st.info(f"The heatmap shows one head, {heads.name}. Lines and Matrix show several.")
    st.plotly_chart(
        heatmap(
            numbers,
            queries,
            keys,
            kind=drawn.kind,
            unit=view.unit,
            high=high,
            caption=f"{caption(view, heads)} · {explanation(view)}{faint_note(views.hidden(view))}",
            left=left,
            hidden=views.hidden(view),
        ),
        theme="streamlit",
        config=config(with_sentence(file_name(view, heads))),
        alt=heatmap_alt(numbers, queries, keys, view.unit, left),
        key="heatmap",
    )
