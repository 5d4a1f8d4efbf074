"""One or several heads of a layer as lines, as a clickable matrix, or as a zoomable heatmap."""

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
from attnviz.app.explore.choices import ALONE, DisplayOptions, Heads, open_heads
from attnviz.app.explore.linking import Tokens
from attnviz.app.explore.pooled import Pooled, pooled
from attnviz.app.explore.published import PublishedArrays
from attnviz.app.explore.views import WEIGHTS, View
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, with_sentence
from attnviz.app.state.choices import SUM
from attnviz.app.traces import EVERYWHERE
from attnviz.capture.model import ModelInput
from attnviz.text import isolated, joined, plural
from attnviz.widgets.tokens import shown_tokens

_MAX_LISTED = 3  # tokens in a sentence about a query
_SCALES: dict[Scale, str] = {
    "shared": "one colour scale for all heads",
    "per head": "each head has its own colour scale",
}
_MAX_QUOTE = 300  # maximum length of a sentence in a caption


def title(view: View, heads: Heads, display: DisplayOptions) -> str:
    """Return the heading of the picture."""
    return heads.title if display.heads == ALONE else pooled(view, heads, display.heads).heading


def draw(view: View, heads: Heads, tokens: Tokens, display: DisplayOptions, arrays: PublishedArrays) -> None:
    """Draw the open heads; below, a sentence about the query (heatmap only) and the mask's window, if any."""
    if display.style == "Heatmap":
        _heatmap(view, heads)
        if tokens.pair:
            st.markdown(in_words(view, heads, tokens.pair.query))
    else:
        _widget(view, heads, tokens, display, arrays)
    block = traces.trace(view.model, view.given).block(view.kind, heads.layer - 1)
    if view.kind != "cross" and (reach := window(block.mask)):
        st.markdown(f":small[In layer {heads.layer} a token can attend to {_reach(*reach)}.]")


def _reach(before: int, after: int) -> str:
    counts = {"before": before, "after": after}
    sides = [f"up to {plural(count, 'token')} {side} it" for side, count in counts.items() if count]
    return joined(["itself", *sides]) if sides else "itself only"


def in_words(view: View, heads: Heads, query: int) -> str:
    """Describe a query's row in Markdown: "In head 4-2, `it` attends to `dog` **66 %**, `road` **12 %**."."""
    numbers = views.values(view)[heads.layer - 1, heads.head - 1]
    shown_share = float(views.shown_shares(view)[heads.layer - 1, heads.head - 1, query])
    queries, keys = views.groups(view)
    name = markdown.token(query, queries)
    note = hidden_note(shown_share, views.hidden_names(view))
    end = f" ({markdown.plain(note)})." if note else "."
    where = f"In head {heads.name},"
    if view.stage != WEIGHTS:
        order = np.argsort(-numbers[query], kind="stable")[:_MAX_LISTED]
        found = [
            (name_of(int(key), keys), float(numbers[query, key]))
            for key in order
            if np.isfinite(numbers[query, key])
        ]
        return f"{where} {name} has the highest scores with {_listed(view, found)}{end}"
    if view.changed is None:
        listed = strongest_keys(numbers, query, queries, keys, maximum=_MAX_LISTED)
        return f"{where} {name} attends to {_listed(view, listed)}{end}"
    if not np.isfinite(numbers[query]).any():
        return f"{name} is in only one of the two sentences."
    moved = changed_keys(numbers, query, queries, keys)
    found = [move for move in (moved.gain, moved.loss) if move]
    if not found:
        return f"{where} the weights of {name} are the same in both sentences{end}"
    return f"{where} the weights of {name} with the largest changes are on {_listed(view, found)}{end}"


def _listed(view: View, found: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{markdown.code(name)} **{views.formatted(view, number)}**" for name, number in found)


def explanation(view: View) -> str:
    """Describe how the displayed numbers were computed from the model's numbers."""
    entries = [
        _explanation(view, traces.shown(view.model, given, view.kind, view.hide, view.merge, view.between))
        for given in filter(None, (view.given, view.changed))
    ]
    # The explanations differ if only one of the two sentences has pieces to merge.
    whole = (
        entries[0]
        if len(set(entries)) == 1
        else f"first sentence: {entries[0]}; second sentence: {entries[1]}"
    )
    return f"{whole}; points are percentage points" if view.unit == "signed percent" else whole


def _explanation(view: View, tokens: Sequence[DisplayTokens]) -> str:
    """Return the explanation for one sentence, with queries and keys from one or two texts."""
    queries, keys = tokens[0].explanation_of_scores, tokens[-1].explanation_of_scores
    if view.stage == WEIGHTS:
        keys = tokens[-1].explanation  # rows are divided by their weight on the shown keys
    return keys if len(tokens) == 1 or queries == keys else f"queries: {queries}; keys: {keys}"


def caption(view: View, heads: Heads) -> str:
    """Return the caption of a saved picture of heads."""
    open_heads = ", ".join(f"{heads.layer}-{head}" for head in heads.all)
    head = f"{attention.head_prefix(view.model, view.kind)}{'heads' if heads.also else 'head'} {open_heads}"
    return f"{_inputs_and_model(view)} · {head} · {view.stage}"


def _inputs_and_model(view: View) -> str:
    """Return the sentence, or both compared sentences, and the model."""
    first, second = (_quoted(view, given) if given else "" for given in (view.given, view.changed))
    sentence = first if view.changed is None else f"{first} → {second} (change)"
    return f"{sentence} · {lookup.display_name(view.model)}"


def _quoted(view: View, given: ModelInput) -> str:
    """Return the quoted text, a pair's second text and, except for encoder attention, the decoder's text."""
    trace = traces.trace(view.model, given)
    target = None if view.kind == "encoder" else trace.target
    texts = (trace.text, trace.second, target)
    return " / ".join(f"“{isolated(_shortened(text))}”" for text in texts if text is not None)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_QUOTE else text[:_MAX_QUOTE] + "…"


def file_name(view: View, heads: Heads) -> str:
    """Return a file name with the model, the heads, the stage and the options, without extension."""
    parts = [
        *attention.head_prefix(view.model, view.kind).split(),
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
    return "-".join([file_name_of(lookup.display_name(view.model)), *parts])


def _widget(
    view: View, heads: Heads, tokens: Tokens, display: DisplayOptions, arrays: PublishedArrays
) -> None:
    queries, keys = views.groups(view)
    style: Literal["lines", "matrix"] = "lines" if display.style == "Lines" else "matrix"
    query = tokens.pair.query if tokens.pair and not display.queries else None

    def on_pick(at: int | None, to: int | None) -> None:
        SUM.set([])
        tokens.choose(at, to)

    key = tokens.pair.key if tokens.pair and tokens.pair.key_is_chosen else None
    explained = f"{explanation(view)}{faint_note(views.hidden_names(view))}"
    texts: dict[str, Any] = {
        "note": f"{_SCALES[view.scale]}; {explained}",
        "caption": caption(view, heads),
        "together": display.queries,
        "filename": f"{file_name(view, heads)}-{display.style.lower()}",
    }
    heads_total, pixels, exact = views.values(view).shape[1], arrays.pixels, arrays.exact
    combined = None if display.heads == ALONE else pooled(view, heads, display.heads)
    if combined:
        heads, heads_total = Heads(heads.layer, 1, ()), 0
        texts |= {
            "heading": combined.heading,
            "note": f"{combined.heading}; {explained}",
            "caption": f"{_inputs_and_model(view)} · {combined.heading} · weights",
            "filename": f"{texts['filename']}-{display.heads.lower().replace(' ', '-')}",
        }
    if max(len(queries), len(keys)) > MAX_CELLS:
        source = long_head.from_view(view, heads.layer)
        if combined:
            source = long_head.from_matrix(source, combined.values, combined.high if view.signed else 1.0)
        long_head.draw(source, heads, heads_total, style, query, key, on_pick, **texts)
        return
    if combined:
        pixels, exact = _send(view, heads, combined)
    head_view(
        "one head",
        pixels=pixels,
        exact=exact,
        view=style,
        layer=heads.layer,
        heads=heads.all,
        heads_total=heads_total,
        query_tokens=shown_tokens(queries),
        key_tokens=shown_tokens(keys),
        query=query,
        key=key,
        kind=views.drawn(view).kind,
        unit=view.unit,
        hatched="no weight" if view.unit == "signed percent" else "masked",
        on_pick=on_pick,
        on_heads=open_heads,
        **texts,
    )


def _send(view: View, heads: Heads, combined: Pooled) -> tuple[str, str]:
    """Send the combined numbers of several heads; return the store ids of the arrays."""
    names, high = [[heads.layer, 1]], combined.high if view.signed else 1.0
    mask = np.isfinite(combined.values)
    cells = np.where(mask, combined.values, 0)
    drawn = diverging(cells, mask=mask, end=high) if view.signed else sequential(cells, mask=mask)
    sent = {name: getattr(combined, name)[None] for name in ("values", "lowest", "highest")}
    return (
        store.publish("pool pixels", {"pixels": drawn.levels[None]}, heads=names, high=[high]),
        store.publish("pool exact", sent, heads=names),
    )


def _heatmap(view: View, heads: Heads) -> None:
    # Imported on demand, because importing Plotly takes a second.
    from attnviz.export.heatmap import config, heatmap, heatmap_alt

    queries, keys = ([group.label for group in side] for side in views.groups(view))
    [numbers] = views.head_numbers(view, heads.layer, [heads.head])
    shown_share = views.shown_shares(view)[heads.layer - 1, heads.head - 1]
    drawn = views.drawn(view)
    high = float(drawn.high[heads.layer - 1, heads.head - 1])
    if heads.also:
        st.info(f"The heatmap shows one head, {heads.name}. To see several heads, choose Lines or Matrix.")
    heads = Heads(heads.layer, heads.head, ())
    st.plotly_chart(
        heatmap(
            numbers,
            queries,
            keys,
            kind=drawn.kind,
            unit=view.unit,
            high=high,
            caption=f"{caption(view, heads)} · {explanation(view)}{faint_note(views.hidden_names(view))}",
            shown_share=shown_share,
            hidden=views.hidden_names(view),
        ),
        theme="streamlit",
        config=config(with_sentence(file_name(view, heads))),
        alt=heatmap_alt(numbers, queries, keys, view.unit, shown_share),
        key="heatmap",
    )
