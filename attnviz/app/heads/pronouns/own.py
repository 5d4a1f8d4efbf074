"""A visitor's own pair of sentences: which heads resolve it, and whether this one does."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.words import Span
from attnviz.app import controls, markdown, traces
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns import onward
from attnviz.app.heads.pronouns.figures import fine, share
from attnviz.app.state import link
from attnviz.app.state.choices import FIRST_MEANT, OTHER, QUERY, SECOND_MEANT, TEXT
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.experiments import coreference, pairs
from attnviz.experiments.coreference import Looks
from attnviz.experiments.pairs import Pair
from attnviz.text import head_name, plural
from attnviz.trace import Trace

_MOST_NAMED = 12


def draw(chosen: HeadSelection, looks: Looks) -> None:
    """Draw the boxes and the choice of three words, and what the heads make of them."""
    st.markdown(
        "Type a sentence, and again with another word that turns the pronoun’s meaning. Then say which words "
        "are meant. A word that stands there twice has two entries, told apart by their numbers."
    )
    try:
        pair = _typed(chosen)
        _verdict(chosen, looks, pair)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/edit:")


def _typed(chosen: HeadSelection) -> Pair:
    if not OTHER.stands and not link.named(OTHER):
        OTHER.set(_partner(link.said(TEXT)))
    one_column, other_column = st.columns(2)
    with one_column:
        text = controls.sentence("First sentence", pairs.bundled()[0].readings[0].text)
    with other_column:
        other = OTHER.draw("Second sentence", placeholder=controls.ONE_CHANGED)
    if text.strip() and not other.strip():
        raise AttnvizError(
            "Type a second sentence: the first one again, with one word changed so that the pronoun means "
            "something else."
        )
    tokens = loading.tokens(chosen.entry.name, text)
    loading.tokens(chosen.entry.name, other)
    shown = DisplayTokens(tokens, text, hide_special=True, merge_words=True)
    given = ModelInput(text)
    suggested = _suggested(shown, text, other)
    asked = (
        (QUERY, "Pronoun"),
        (FIRST_MEANT, "It means, in the first"),
        (SECOND_MEANT, "It means, in the second"),
    )
    spans = []
    for column, (choice, label), begin in zip(st.columns(3), asked, suggested, strict=True):
        with column:
            place = controls.token(shown.groups, given, label, choice, begin)
            spans.append(_span(shown, place))
    return pairs.typed(text, other, spans[0], (spans[1], spans[2]))


def _partner(text: str) -> str:
    """The other sentence of the pair that this one is known from; "" where none is."""
    for pair in pairs.bundled():
        one, two = (reading.text for reading in pair.readings)
        if text in (one, two):
            return two if text == one else one
    return ""


def _span(shown: DisplayTokens, place: int) -> Span:
    pieces = [shown.tokens[position] for position in shown.groups[place].positions]
    return Span(pieces[0].start, pieces[-1].end)


def _suggested(shown: DisplayTokens, text: str, other: str) -> tuple[int, int, int]:
    """The words that are chosen first: those of a known pair, or else a pronoun and two words before it."""
    for pair in pairs.bundled():
        readings = {reading.text: reading for reading in pair.readings}
        if text in readings and other in readings and text != other:
            one, two = readings[text], readings[other]
            meant = one.candidates[one.right], one.candidates[two.right]
            first, second, third = (_place(shown, span) for span in (one.pronoun, *meant))
            return first, second, third
    spans = [_span(shown, place) for place in range(len(shown))]
    words = [text[span.start : span.end].casefold() for span in spans]
    named = [place for place, word in enumerate(words) if word in controls.PRONOUNS]
    pronoun = named[-1] if named else len(words) - 1
    before = max(pronoun - 2, 0)
    return pronoun, min(1, before), before


def _place(shown: DisplayTokens, span: Span) -> int:
    return next(place for place in range(len(shown)) if _span(shown, place).end > span.start)


def _verdict(chosen: HeadSelection, looks: Looks, pair: Pair) -> None:
    def trace(text: str) -> Trace:
        return traces.trace(chosen.entry.name, ModelInput(text))

    *_, end = coreference.resolve([pair], trace, chosen.kind)
    found = end.found
    if not found.pairs:
        raise AttnvizError(found.unread[0].why)
    right = found.right(looks)[0]
    resolved = right.all(axis=0)
    seen = found.weights[coreference.LOOKS.index(looks), 0, :, :, chosen.layer, chosen.head]
    for reading, weights, is_right in zip(
        pair.readings, seen, right[:, chosen.layer, chosen.head], strict=True
    ):
        told = " and ".join(
            f"{markdown.code(name)} **{fine(float(weight))}**"
            for name, weight in zip(pair.candidates, weights, strict=True)
        )
        meant = markdown.code(pair.candidates[reading.right])
        st.markdown(
            f"{'✓' if is_right else '✗'} {markdown.code(reading.text)} Head {chosen.name}: {told}. "
            f"Meant is {meant}: {'right' if is_right else 'wrong'}."
        )
    verdict = "resolves this pair" if resolved[chosen.layer, chosen.head] else "does not resolve this pair"
    heads = [head_name(layer, head) for layer, head in zip(*resolved.nonzero(), strict=True)]
    named = ", ".join(heads[:_MOST_NAMED]) + (" …" if len(heads) > _MOST_NAMED else "")
    st.markdown(
        f"Head {chosen.name} **{verdict}**. Of {plural(resolved.size, 'head')}, {len(heads) or 'none'} "
        f"{'do' if len(heads) > 1 else 'does'}{f': {named}' if heads else ''}. A coin for each sentence "
        f"would resolve {share(1, 4)} of all pairs: one pair is an anecdote."
    )
    with st.container(horizontal=True):
        fails = int(right[:, chosen.layer, chosen.head].argmin())
        onward.pair(chosen, pair, pair.readings[fails], "Open your pair on Explore")
