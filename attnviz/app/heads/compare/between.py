"""The word that differs, turned step by step into the other: what the chosen token reads on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.app import markdown
from attnviz.app.components.hinge import Mark, hinge, keeps, turning_point, written
from attnviz.app.heads.compare.compared import Comparison, aligned, first_token
from attnviz.app.server.cache import cached
from attnviz.app.state import link
from attnviz.app.state.choice import option
from attnviz.app.state.choices import HEAD, LAYER, QUERY, TURNED
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.text import head_name, percent
from attnviz.trace import Floats

if TYPE_CHECKING:
    from attnviz.capture.between import Between


@cached("Reading every step between the two words …")
def _between(model: Entry, first: str, second: str, query: int) -> Between:
    with loading.gate:
        from attnviz.capture.between import between

    return between(model.name, first, second, query)


def draw(compared: Comparison) -> None:
    """Draw the first sentence with a slider between the two words, for the open head and the chosen token.

    What cannot be shown so is said: sentences that do not differ in one token alone, or another attention
    than the first text's own.
    """
    first, grid = compared.first, aligned(compared)
    layer, head = LAYER.get(1) - 1, HEAD.get(1) - 1
    chosen = next(at for at in grid.shared if option(grid.queries[at]) == QUERY.get(""))
    query = first_token(compared, chosen)
    if first.kind != first.model.kinds[0]:
        st.info("Choose the encoder's attention: it is the English word that turns.")
        return
    try:
        _draw(compared, layer, head, query)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/edit:")


def _draw(compared: Comparison, layer: int, head: int, query: int) -> None:
    first = compared.first
    found = _between(first.model, first.given.text, compared.second.given.text, query)
    rows = found.rows[:, layer, head]
    words = [visible_text(token.text) for token in found.tokens]
    other, looker = visible_text(found.other.text), markdown.code(words[query])
    overtaking = _overtaking(rows, query)
    step = link.number(TURNED)
    marks: list[Mark] = []
    if overtaking and step:
        marks.append({"step": overtaking[2], "text": f"{words[overtaking[1]]} > {words[overtaking[0]]}"})
    hinge(
        "hinge",
        title=f"From {words[found.place]} to {other}",
        words=words,
        query=query,
        place=found.place,
        ends=(words[found.place], other),
        rows=rows,
        marks=marks,
        outcome=written(found.outcome.words, found.outcome.probabilities) if found.outcome else (),
        step=step,
        on_change=keeps(TURNED),
    )
    turns = _turns(found, words, looker, overtaking) if step else f"Drag, and watch what {looker} reads."
    st.markdown(
        f"{turns} This is head {head_name(layer, head)}. Each of the "
        f"{len(rows)} steps is a forward pass of its own. **Between words**, the model reads a mix of the "
        "two words' vectors, which is no word's vector."
    )


def _turns(found: Between, words: Sequence[str], looker: str, overtaking: tuple[int, int, int] | None) -> str:
    """Where on the way something turns, in Markdown."""
    said = f"{looker} reads the same word most all the way."
    if overtaking:
        before, after, crossed = overtaking
        said = (
            f"{looker} reads {markdown.code(words[after])} more than {markdown.code(words[before])} from "
            f"**{percent(float(found.shares[crossed]))}** of the way on."
        )
    if not found.outcome:
        return said
    step = turning_point(*found.outcome.probabilities)
    one, other = map(markdown.code, found.outcome.words)
    if step is None:
        return said
    return f"{said} {other} becomes likelier than {one} at **{percent(float(found.shares[step]))}**."


def _overtaking(rows: Floats, query: int) -> tuple[int, int, int] | None:
    """The key that is read most with the first word, the one with the second, and the step of the change.

    None where they are the same. The token itself does not count.
    """
    others = np.delete(np.arange(rows.shape[1]), query)
    before, after = (int(others[rows[step, others].argmax()]) for step in (0, -1))
    step = turning_point(rows[:, before], rows[:, after])
    return None if step is None else (before, after, step)
