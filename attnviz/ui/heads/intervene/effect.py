"""What moves: each token's output, and what the model expects."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.sentence import name_of, percent
from attnviz.analysis.shown import Group
from attnviz.heads.ablation import Numbers
from attnviz.trace import Kind
from attnviz.ui import caches, markdown
from attnviz.ui.components.candidates import candidates
from attnviz.ui.components.token_bars import Bar, token_bars
from attnviz.ui.heads import choosing
from attnviz.ui.heads.intervene import computed, scale
from attnviz.ui.heads.intervene.choices import Chosen, word
from attnviz.ui.heads.intervene.computed import Effect
from attnviz.ui.heads.intervene.written import angle, cosine

_TITLE = (
    "how far each token’s output turns (angle; bars and small numbers: 1 − cosine, 0 to the largest here)"
)
_PRONOUNS = ("il", "elle")
_MOST_BARS = 48  # of a long text, the tokens that turn most


def draw(chosen: Chosen) -> int | None:
    """Draw what the changes move, or what to do first.

    Returns:
        The token at which the model is asked what it expects, from 0; None where it expects nothing.
    """
    st.header("What moves", anchor=False)
    outputs = st.container()
    place = _place(chosen)
    if chosen.edits:
        found = computed.effect(chosen, place)
        with outputs:
            _outputs(chosen, found, place)
        if place is None:
            st.markdown(f":small[{_why_nothing(chosen)}]")
        else:
            _expected(chosen, found, place)
        if len(chosen.entry.kinds) > 1:
            _written(chosen)
    else:
        outputs.markdown("Nothing is changed yet. **Silence a head**, and the model is run again without it.")
    return place


def _outputs(chosen: Chosen, found: Effect, place: int | None) -> None:
    for at, (name, groups) in enumerate(_texts(chosen)):
        moved = _of_text(found, at)
        marked = chosen.query if _looks(chosen, at) else None
        where = f"{_cause(chosen)}, in {name}," if name else f"{_cause(chosen)},"
        st.markdown(_in_words(where, groups, moved, marked))
        if marked is not None and moved.any():
            scale.draw(chosen, place)
        _bars(f"moved {at}", name, groups, moved, marked)


def _place(chosen: Chosen) -> int | None:
    """Draw the choice of where the model is asked what it expects; None where it expects nothing."""
    places = computed.asked_at(chosen)
    if not places:
        return None
    texts = _texts(chosen)
    groups = texts[-1][1]
    masked = chosen.entry.expects == "masked"
    label = "Masked token" if masked else "What follows after"
    begin = 0 if masked else _opening(groups, places)
    return places[choosing.word([groups[place] for place in places], chosen.given, label, "asked", begin)]


def _cause(chosen: Chosen) -> str:
    """What moved it, as a sentence begins."""
    (edit, *more) = chosen.edits
    if more:
        return f"With these {len(chosen.edits)} changes"
    if edit.query is None and edit.target is None:
        part = f"{edit.kind} " if len(chosen.entry.kinds) > 1 else ""
        return f"Without {part}head {edit.layer + 1}-{edit.head + 1}"
    return "With this change"


def _texts(chosen: Chosen) -> list[tuple[str, tuple[Group, ...]]]:
    """What each text is called, and its tokens: one, or those of the encoder and of the decoder."""
    kinds = chosen.entry.kinds
    if len(kinds) == 1:
        return [("", chosen.queries)]
    names: dict[Kind, str] = {"encoder": "the encoder’s text", "decoder": "the decoder’s text"}
    if chosen.entry.engine == "translator":
        names = {"encoder": "English", "decoder": "French"}
    return [(name, choosing.groups(chosen.entry, chosen.given, kind)[0]) for kind, name in names.items()]


def _of_text(found: Effect, at: int) -> Numbers:
    """[token], how far the outputs of one of the texts turn."""
    source = found.moved.source
    of_text = found.moved.turned if source is None or at else source
    moved: Numbers = of_text[0]
    return moved


def _looks(chosen: Chosen, at: int) -> bool:
    """Whether the token that is looked at is of this text."""
    return len(chosen.entry.kinds) == 1 or (chosen.kind == "encoder") == (at == 0)


def _in_words(where: str, groups: Sequence[Group], moved: Numbers, marked: int | None) -> str:
    """The finding, with its numbers, in Markdown; `where` begins its first sentence."""
    if not moved.any():
        return f"{where} no output moves."
    most = int(moved.argmax())
    plain = [at for at, group in enumerate(groups) if not group.special]
    mean = float(moved[plain or slice(None)].mean())
    among = "all tokens but the special ones" if plain and len(plain) < len(groups) else "all tokens"
    average = f"Over {among}, 1 − cosine is {cosine(mean)} on average, an angle of {angle(mean)}."
    if marked is None:
        return f"{where} the output of {word(groups, most)} turns most, by {_how_far(moved[most])}. {average}"
    rank = int((moved > moved[marked]).sum()) + 1
    told = f"{where} the output of {word(groups, marked)} turns by {_how_far(moved[marked])}"
    if rank == 1:
        return f"{told}: the most of all {len(groups)} tokens. {average}"
    return (
        f"{told}: number {rank} of {len(groups)} tokens. The one of {word(groups, most)} turns most, by "
        f"{_how_far(moved[most])}. {average}"
    )


def _how_far(turned: float) -> str:
    return f"**{angle(float(turned))}** (1 − cosine {cosine(float(turned))})"


def _bars(key: str, name: str, groups: Sequence[Group], moved: Numbers, marked: int | None) -> None:
    longest = float(moved.max()) or 1.0
    shown = sorted(range(len(groups)), key=lambda at: (at != marked, -moved[at]))[:_MOST_BARS]
    bars: list[Bar] = [
        {
            "number": groups[at].number,
            "label": groups[at].label,
            "size": float(moved[at]) / longest,
            "written": angle(float(moved[at])),
            "also": cosine(float(moved[at])),
            "marked": at == marked,
        }
        for at in sorted(shown)
    ]
    title = f"{name}: {_TITLE}" if name else f"{_TITLE[0].upper()}{_TITLE[1:]}"
    some = f"; the {len(shown)} of {len(groups)} that turn most" if len(shown) < len(groups) else ""
    token_bars(key, title=f"{title}{some}", bars=bars)


def _expected(chosen: Chosen, found: Effect, place: int) -> None:
    groups = _texts(chosen)[-1][1]
    where = "behind" if chosen.entry.expects == "masked" else "after"
    best = found.likely[0]
    now = max(found.likely, key=lambda likely: likely.after)
    told = (
        f"What the model expects {where} {word(groups, place)}: {markdown.code(best.label)} goes from "
        f"**{percent(best.before)}** to **{percent(best.after)}**"
    )
    told += (
        "." if now is best else f"; likeliest now is {markdown.code(now.label)}, **{percent(now.after)}**."
    )
    variation = found.moved.variation
    divergence = found.moved.divergence
    if variation is not None and divergence is not None:
        told += (
            f" In all, {percent(float(variation[0]))} of the probability goes to other tokens (total "
            f"variation); the divergence is {divergence[0]:.3f} nats."
        )
    st.markdown(told)
    candidates(
        "expected",
        title=f"What the model expects {where} {name_of(place, groups)}",
        columns=["before", "with the changes"],
        rows=[
            {"label": one.label, "place": one.place, "numbers": [one.before, one.after], "mark": ""}
            for one in found.likely
        ],
    )


def _written(chosen: Chosen) -> None:
    """Say what an encoder–decoder writes before and with the changes."""
    before = caches.trace(chosen.entry.name, chosen.given).target or ""
    after = computed.target(chosen)
    if before == after:
        st.markdown(f"What it writes stays the same: {markdown.code(before)}.")
    else:
        st.markdown(
            f"What it writes, before: {markdown.code(before)}  \nand with the changes: {markdown.code(after)}"
        )


def _why_nothing(chosen: Chosen) -> str:
    mask = caches.mask_token(chosen.entry.name)
    if mask is not None:
        return (
            f"This model can say what stands behind a mask: type {markdown.code(mask)} in place of a word to "
            "see how its expectation changes."
        )
    return (
        "This model was saved without a part that expects words, so its outputs are all that can move: the "
        "vectors that whatever comes after it would read."
    )


def _opening(groups: Sequence[Group], places: Sequence[int]) -> int:
    """Where a French pronoun is chosen; else the last place."""
    for at, place in enumerate(places[1:]):
        if groups[place].label in _PRONOUNS:
            return at
    return len(places) - 1
