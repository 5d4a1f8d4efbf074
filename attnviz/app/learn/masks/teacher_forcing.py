"""Why a decoder has a causal mask: its training shows it all the words at once."""

from __future__ import annotations

import streamlit as st

from attnviz.app import markdown
from attnviz.app.learn.computed import masks as compute
from attnviz.app.learn.computed import translated
from attnviz.app.learn.english import OPENING
from attnviz.app.references import cited_markdown
from attnviz.text import percent, scientific

_teacher_forced = translated(compute.teacher_forced)


def draw() -> None:
    """Draw each place of a French sentence: what it may see, what it is to predict, and how it did."""
    found = _teacher_forced(OPENING)
    places = len(found.targets)
    told, drawn = st.columns([5, 7], gap="large")
    explained = (
        "In training, attnviz's translator gets the right French **all at once**, and each place predicts "
        "the word after it (**teacher forcing**). Without a mask, it could read its answer one place further "
        f"on. The mask closes that, and one pass trains all {places} places **in parallel** (Vaswani et al. "
        "2017, sections 3.1 and 3.2.3).\n\n"
        "When it **writes**, later words do not exist yet: it takes a pass for each word. Both ways give the "
        f"same probabilities: they differ by at most {scientific(found.difference)}, which is rounding."
    )
    with told:
        cited_markdown(explained)
    rows = [
        f"| {' '.join(map(markdown.code, found.read[: place + 1][-_SEEN:]))} | {markdown.code(target)} "
        f"| {percent(float(found.at_once[place]), 1)} | {percent(float(found.one_by_one[place]), 1)} |"
        for place, target in enumerate(found.targets)
    ]
    head = f"| sees (the last {_SEEN}) | is to predict | all at once | word by word |\n|:--|:--|--:|--:|"
    drawn.markdown("\n".join([head, *rows]))


_SEEN = 2  # of the words that a place sees, so that a row has room on a phone
