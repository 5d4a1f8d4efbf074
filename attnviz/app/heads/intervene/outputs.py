"""How much the edits change each token's output, as an angle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.app.components.token_bars import Bar, token_bars
from attnviz.app.heads import choosing
from attnviz.app.heads.intervene import ranking
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.computed import Effect
from attnviz.app.heads.intervene.written import angle, average, cosine
from attnviz.experiments.ablation import Numbers, angles
from attnviz.text import head_name
from attnviz.trace import Kind

_TITLE = "change of each token’s output (angle)"
_MEANING = "angle between the two vectors; 90°: orthogonal"
_MAX_BARS = 24  # of a long text, the tokens that change most


def in_short(chosen: Intervention, found: Effect) -> str:
    """Return how much the output of the chosen token changes: one sentence, in Markdown."""
    cosine_change = _of_token(chosen, found)
    how_far = f"changes by **{angle(cosine_change)}** ({_MEANING})" if cosine_change else "does not change"
    return f"{_cause(chosen)}, the output of {chosen.token} {how_far}."


def show(chosen: Intervention, found: Effect, place: int | None) -> None:
    """Draw it, beside the baseline."""
    compared = _median_head(chosen, place) if _of_token(chosen, found) else ""
    st.markdown(f"{in_short(chosen, found)} {compared}")


def explain(chosen: Intervention, found: Effect, place: int | None) -> None:
    """Draw it, and say what an output is."""
    show(chosen, found, place)
    st.markdown("An output is the vector that a token has after the last layer.")


def every_token(chosen: Intervention, found: Effect) -> None:
    """Draw all outputs' angles as bars of one scale, text beside text."""
    texts = _texts(chosen)
    longest = max(float(_of_text(found, at).max()) for at in range(len(texts)))
    columns = st.columns(len(texts), gap="medium")
    for at, (column, (name, groups)) in enumerate(zip(columns, texts, strict=True)):
        moved = _of_text(found, at)
        marked = chosen.query if _attends(chosen, at) else None
        with column:
            _bars(f"moved {at}", name, groups, moved, marked, longest)
            st.markdown(_mean(groups, moved))


def _cause(chosen: Intervention) -> str:
    """Return the cause as the beginning of a sentence."""
    (edit, *more) = chosen.edits
    if more:
        return f"With these {len(chosen.edits)} changes"
    if edit.query is None and edit.target is None:
        part = f"{edit.kind} " if len(chosen.entry.kinds) > 1 else ""
        return f"Without {part}head {head_name(edit.layer, edit.head)}"
    return "With this change"


def _texts(chosen: Intervention) -> list[tuple[str, tuple[DisplayToken, ...]]]:
    """Return the name and tokens of each text: of one, or of the encoder and the decoder."""
    kinds = chosen.entry.kinds
    if len(kinds) == 1:
        return [("", chosen.queries)]
    names: dict[Kind, str] = {"encoder": "the encoder’s text", "decoder": "the decoder’s text"}
    if chosen.entry.engine == "translator":
        names = {"encoder": "English", "decoder": "French"}
    return [(name, choosing.groups(chosen.entry, chosen.given, kind)[0]) for kind, name in names.items()]


def _of_text(found: Effect, at: int) -> Numbers:
    """Return [token], the change of each output of one of the texts."""
    source = found.moved.source
    of_text = found.moved.cosine_change if source is None or at else source
    moved: Numbers = of_text[0]
    return moved


def _of_token(chosen: Intervention, found: Effect) -> float:
    return float(_of_text(found, 0 if _attends(chosen, 0) else 1)[chosen.query])


def _attends(chosen: Intervention, at: int) -> bool:
    """Return whether the chosen token belongs to this text."""
    return len(chosen.entry.kinds) == 1 or (chosen.kind == "encoder") == (at == 0)


def _mean(groups: Sequence[DisplayToken], moved: Numbers) -> str:
    plain = [at for at, group in enumerate(groups) if not group.special]
    among = "all tokens except special ones" if 0 < len(plain) < len(groups) else "all tokens"
    return f":small[Mean over {among}: {angle(float(average(moved[plain or slice(None)])))}]"


def _bars(
    key: str, name: str, groups: Sequence[DisplayToken], moved: Numbers, marked: int | None, longest: float
) -> None:
    shown = sorted(range(len(groups)), key=lambda at: (at != marked, -moved[at]))[:_MAX_BARS]
    sizes = angles(moved) / (angles(longest) or 1.0)
    bars: list[Bar] = [
        {
            "number": groups[at].number,
            "label": groups[at].label,
            "size": float(np.clip(sizes[at], 0, 1)),
            "written": angle(float(moved[at])),
            "hint": f"1 − cosine: {cosine(float(moved[at]))}",
            "marked": at == marked,
        }
        for at in sorted(shown)
    ]
    title = f"{name}: {_TITLE}" if name else f"{_TITLE[0].upper()}{_TITLE[1:]}"
    some = f"; the {len(shown)} of {len(groups)} with the largest change" if len(shown) < len(groups) else ""
    token_bars(key, title=f"{title}{some}", bars=bars)


def _median_head(chosen: Intervention, place: int | None) -> str:
    """Return the baseline: the median change of that output over all heads, each ablated alone."""
    alone = ranking.job(chosen, place).latest
    if alone is None or not alone.finished:
        return ""
    _, size = ranking.each_alone(chosen, alone.found, ranking.TOKEN)
    return f"Median of {len(size)} heads, each ablated alone: **{angle(np.median(size))}**."
