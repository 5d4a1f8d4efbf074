"""The lesson "Masks": an editable mask, and the model's weights with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.analysis.sentence import name_of, strongest_keys
from attnviz.app import controls, markdown
from attnviz.app.lessons import choosing
from attnviz.app.lessons.choosing import HeadSelection
from attnviz.app.lessons.computed import cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.masks import values
from attnviz.app.lessons.masks.values import MaskChoice, MaskedRun
from attnviz.app.markdown import Markdown
from attnviz.app.state.choices import CELLS, EDITED, MASK, MASK_AFTER, MASK_SIZE, REPLACEMENT
from attnviz.app.weights_picture import weights_picture
from attnviz.errors import AttnvizError, InvalidMask
from attnviz.text import percent
from attnviz.trace import Floats
from attnviz.widgets.tokens import shown_tokens

_NUMBER_WIDTH = 150  # pixels; a narrower number input has no buttons
_MAX_CAPTION = 60  # maximum characters of the sentence in a saved picture's caption
_MAX_OUTPUTS = 60  # maximum rows of the table of outputs
_MAX_PADS = 10
CODE = (
    ("attnviz.transformer.masks", "causal_mask"),
    ("attnviz.app.lessons.masks.values", "masked_run", "weights"),
    ("attnviz.transformer.attention", "scaled_dot_product_attention", "_apply_mask"),
    ("attnviz.app.lessons.masks.values", "reach", "compare_outputs"),
)

_masked_run, _renormalized = cached_bert(values.masked_run), cached_bert(values.renormalized)
_replaced, _reach = cached_bert(values.replaced), cached_bert(values.reach)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("masks") as page:
        with page.controls:
            chosen = choosing.head_selection()
        page.explain()
        with page.beside:
            cells = choosing.changes(
                CELLS, chosen.text, page.label("by hand"), placeholder=page.label("edit")
            )
        with page.picture:
            _picture(page, chosen, cells)
        row = _renormalized(chosen.text, chosen.head, chosen.query)
        page.predict(
            head=f"1-{chosen.head + 1}",
            query=chosen.name,
            key=markdown.token(row.key, chosen.groups),
            before=row.before,
            allowed=row.allowed,
            after=row.after,
        )
        page.further(
            page.section("reach", _outputs, chosen.text).with_choices(EDITED, REPLACEMENT),
            page.text_section("models"),
            code=CODE,
        )


def _picture(page: LessonPage, chosen: HeadSelection, cells: list[str]) -> None:
    """Draw the mask, and the model's weights with and without it."""
    kind = MASK.labelled_segments(page.label("mask"), values.KINDS, page.label)
    size_row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with size_row:
        page.text(f"about-{kind}")
        choice = _sizes(page, kind, len(chosen.groups))
    try:
        run = _masked_run(chosen.text, choice, chosen.head, tuple(cells))
    except InvalidMask as error:
        st.warning(page.document.render("invalid", problem=str(error)), icon=":material/grid_off:")
        run = _masked_run(chosen.text, choice, chosen.head)
    heading = page.label("masked") if run.after is not None else page.label("before")
    shown = np.where(run.mask, run.before if run.after is None else run.after, np.nan)
    groups = _groups(run, chosen.text)
    before = strongest_keys(run.before[chosen.layer], chosen.query, groups)
    note = page.label(
        "query_before",
        token=name_of(chosen.query, groups),
        before=", ".join(f"{name} {percent(weight)}" for name, weight in before),
    )
    left, right = st.columns(2)
    with left:
        _weights(page, chosen, "masked", shown, run, heading, partial(_edit, cells), note)
    with right:
        _weights(page, chosen, "before", run.before, run, page.label("before"))
    if run.after is None:
        rows = [markdown.token(int(row), groups) for row in np.flatnonzero(~run.mask.any(axis=1))]
        refused = page.document.render("refused", rows=Markdown(", ".join(rows)))
        st.error(refused, icon=":material/block:")
        return
    if choice.pads:
        tokens = len(chosen.groups)
        alone = _masked_run(chosen.text, MaskChoice("none"), chosen.head).before
        page.text(
            "padding-difference", difference=float(np.abs(run.after[:, :tokens, :tokens] - alone).max())
        )


def _sizes(page: LessonPage, kind: str, tokens: int) -> MaskChoice:
    """Draw the controls for the size of a mask."""
    number: Callable[[str, int], int] = partial(MASK_SIZE.draw, width=_NUMBER_WIDTH)
    if kind == "padding":
        return MaskChoice(kind, number(page.label("pads"), _MAX_PADS))
    if kind == "prefix":
        return MaskChoice(kind, number(page.label("prefix_size"), tokens))
    if kind == "window":
        before = number(page.label("window_before"), tokens - 1)
        after = MASK_AFTER.draw(page.label("window_after"), tokens - 1, width=_NUMBER_WIDTH)
        return MaskChoice(kind, before, after)
    return MaskChoice(kind)


def _edit(cells: list[str], query: int | None, key: int | None) -> None:
    """Mask or unmask a cell."""
    if query is not None and key is not None:
        cell = f"{query + 1}>{key + 1}"
        CELLS.set([each for each in cells if each != cell] if cell in cells else [*cells, cell])


def _groups(run: MaskedRun, text: str) -> tuple[DisplayToken, ...]:
    return tuple(DisplayTokens(run.tokens, text).groups)


def _weights(
    page: LessonPage,
    chosen: HeadSelection,
    name: str,
    weights: Floats,
    run: MaskedRun,
    heading: str,
    on_pick: Callable[[int | None, int | None], None] | None = None,
    note: str = "",
) -> None:
    """Draw the chosen layer of `weights`, [layer, query, key], as a matrix."""
    st.header(heading, anchor=False)
    named = shown_tokens(_groups(run, chosen.text))
    weights_picture(
        f"weights {name}",
        weights[chosen.layer][None],
        named,
        named,
        query=chosen.query,
        layer=chosen.layer + 1,
        heads=[chosen.head + 1],
        heading=heading,
        note=note,
        caption=page.label("caption", text=chosen.text[:_MAX_CAPTION], head=chosen.head_name),
        filename="attnviz-mask",
        on_pick=on_pick,
    )


def _outputs(page: LessonPage, text: str) -> None:
    """Draw a table of each output's change when a word is replaced, without and with a causal mask."""
    page.text("reach")
    word, other = st.columns(2)
    with word:
        begin = controls.index_of_word("tired", choosing.tokens(text))
        place = choosing.token(text, page.label("edited"), EDITED, begin)
    with other:
        replacement = REPLACEMENT.draw(page.label("replacement"), "narrow")
    try:
        changed = _replaced(text, place, replacement)
    except AttnvizError as error:
        st.warning(markdown.plain(str(error)), icon=":material/edit:")
        return
    reach = _reach(text, changed)
    if not reach.edited.any():
        st.info(page.label("same"))
        return
    before, after = choosing.tokens(text), choosing.tokens(changed)
    first = int(reach.edited.argmax())
    begin = max(0, min(first - _MAX_OUTPUTS // 2, len(before) - _MAX_OUTPUTS))
    lines = [
        f"| {page.label('token')} | {page.label('encoder')} | {page.label('decoder')} |",
        "|:--|--:|--:|",
    ]
    for at in range(begin, min(len(before), begin + _MAX_OUTPUTS)):
        names = [markdown.code(group.label) for group in (before[at], after[at])[: 1 + reach.edited[at]]]
        encoder, decoder = (_distance(change, at) for change in (reach.encoder, reach.decoder))
        lines.append(f"| {' → '.join(names)} | {encoder} | {decoder} |")
    table, why = st.columns([7, 5], gap="large")
    table.markdown("\n".join(lines))
    with why:
        page.text(
            "reach-why",
            tokens=len(before),
            encoder_same=int(reach.encoder.unchanged.sum()),
            decoder_same=int(reach.decoder.unchanged.sum()),
        )


def _distance(change: values.OutputChange, token: int) -> str:
    if change.unchanged[token]:
        return "="
    return "< 0.001" if change.distance[token] < 0.0005 else f"{change.distance[token]:.3f}"
