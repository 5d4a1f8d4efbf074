"""Tear the arrow: one weight, shared between two nouns, and the pronoun that the model then writes."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.app.components.hinge import Mark, hinge, keeps, turning_point, written
from attnviz.app.lessons.cause import compute
from attnviz.app.lessons.cause.choices import PRONOUNS, ArrowSelection
from attnviz.app.lessons.cause.sections import other_noun
from attnviz.app.lessons.computed import translated
from attnviz.app.state import link
from attnviz.app.state.choices import TORN
from attnviz.text import percent
from attnviz.trained.translator import grammar

_shared = translated(compute.shared)


def draw(chosen: ArrowSelection) -> None:
    """Draw the slider from the word that is read most to the other noun."""
    place, found = chosen.place, chosen.experiment
    source, target = chosen.strongest, other_noun(chosen)
    if place.kind != "encoder" or target is None:
        st.info("Choose an encoder head and a sentence with two nouns: the weight is shared between them.")
        return
    torn = _shared(chosen.model, chosen.text, place.layer, place.head, place.query, source, target)
    if torn is None:
        st.info("The model writes no *il* and no *elle* here, so there is nothing to watch turn.")
        return
    words = [visible_text(word) for word in found.keys]
    (first, one), (second, other) = sorted(
        zip(PRONOUNS, (torn.il, torn.elle), strict=True), key=lambda each: -each[1][0]
    )
    turns, step = turning_point(one, other), link.number(TORN)
    marks: list[Mark] = [] if turns is None or not step else [{"step": turns, "text": f"{second} > {first}"}]
    hinge(
        "tear",
        title=f"How much of the weight goes from {words[source]} to {words[target]}",
        words=words,
        query=place.query,
        place=None,
        ends=(words[source], words[target]),
        rows=torn.rows,
        marks=marks,
        outcome=written(PRONOUNS, (torn.il, torn.elle)),
        texts=[grammar.written(each) for each in torn.french],
        step=step,
        on_change=keeps(TORN),
    )
    if not step:
        said = "Drag, and watch the pronoun."
    elif turns is None:
        said = f"*{first}* stays the likelier one, however the weight is shared."
    else:
        share = percent(float(torn.shares[turns]))
        said = f"With **{share}** on {chosen.key(target)}, *{second}* is likelier."
    st.markdown(
        f"Unchanged, {chosen.reader} gives **{percent(float(found.row_before[source]))}** to "
        f"{chosen.key(source)}. Here that weight is shared with {chosen.key(target)}. {said} Each step is a "
        "forward pass; nothing else is changed."
    )
