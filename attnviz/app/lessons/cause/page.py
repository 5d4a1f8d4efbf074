"""The lesson "Cause": edits of the translator's attention, and their effect on the translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.components.share_table import Row as ShareRow
from attnviz.app.components.share_table import share_table
from attnviz.app.lessons.cause import values
from attnviz.app.lessons.cause.values import Experiment, Row
from attnviz.app.lessons.choosing import changes
from attnviz.app.lessons.computed import cached_translator
from attnviz.app.lessons.english import OPENING, choose_variant, english, outside_note
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.measured import held_out_results, opening_head, variant_of
from attnviz.app.lessons.translate.values import PRONOUNS
from attnviz.app.state.choices import CAUSE_HEAD, CAUSE_WORD, EDITS
from attnviz.app.state.link import contains as in_link
from attnviz.errors import InvalidEdit, ModelFilesDamaged
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.text import head_name, percent
from attnviz.trace import Kind
from attnviz.trained.translator import grammar, reading, variants
from attnviz.trained.vocabulary import END

CODE = (
    ("attnviz.interventions.editing", "EditedAttention", "edited_heads", "edit_weights"),
    ("attnviz.app.lessons.cause.values", "experiment"),
)

OPENING_EDIT = "encoder 2-1 9 2>7"
"""The default edit: move the weight of "it" on "dog" to "road"."""

_experiment, _queries = cached_translator(values.experiment), cached_translator(values.queries)


@dataclass(frozen=True, eq=False)
class Selection:
    """A sentence, the name of a translator in the catalogue, the shown row, and all edits."""

    text: str
    model: str
    row: Row
    edits: tuple[str, ...]

    @property
    def experiment(self) -> Experiment:
        """The translations without and with the edits, and the row in both."""
        return _experiment(self.model, self.text, self.row, self.edits)

    @property
    def query(self) -> markdown.Markdown:
        """The query token."""
        return word_name(self.row.query, self.experiment.queries)

    @property
    def edit(self) -> Edit | None:
        """The last edit of the row."""
        here = [edit for edit in map(Edit.parse, self.edits) if self.row.has(edit)]
        return here[-1] if here else None

    @property
    def other_edits(self) -> list[str]:
        """The edits of other rows."""
        return [edit for edit in self.edits if not self.row.has(Edit.parse(edit))]

    def change(self, edit: Edit | None) -> None:
        """Replace all edits of this row by `edit`, or remove them if it is None."""
        EDITS.set([*self.other_edits, *([str(edit)] if edit else [])])


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("cause") as page:
        with page.controls:
            sentence, translator, place = st.columns([11, 7, 9])
        with sentence:
            text = english()
            outside_note(
                reading.is_outside_grammar(
                    [token.text for token in reading.tokens(text) if not token.special]
                )
            )
        with translator:
            model = choose_variant()
        details = page.beside.container()
        with page.beside:
            edits = _choose_edits(page, text, model)
        with place:
            chosen = Selection(text, model, _choose_row(page, text, model), edits)
        with page.picture:
            heading = page.document.render("heading", query=chosen.query, head=_head(page, chosen.row))
            st.header(heading, anchor=False)
            _figure(page, chosen)
        with details:
            page.text("intro", query=chosen.query)
            variant = variants.VARIANTS[variant_of(model)]
            page.text("trained", title=variant.title, description=variant.description)
        _predict(page, chosen)
        page.further(
            page.section("sentences", _sentences),
            code=CODE,
            unguided=variants.VARIANTS["unguided"].title,
        )


def word_name(place: int, words: Sequence[str]) -> markdown.Markdown:
    """Return a word as Markdown, with its position if it occurs more than once."""
    word = words[place]
    return markdown.code(f"{word} ({place + 1})" if words.count(word) > 1 else word)


def _head(page: LessonPage, row: Row) -> str:
    return page.label(row.kind, head=head_name(row.layer, row.head))


# Controls


def _choose_edits(page: LessonPage, text: str, model: str) -> tuple[str, ...]:
    """Draw the box for edits; return the edits, or none if any is invalid. A new sentence clears the box."""
    if (text, model) == (OPENING, catalogue.TRANSLATOR) and not EDITS.is_set and not in_link(EDITS):
        EDITS.set([OPENING_EDIT])
    typed = changes(
        EDITS, text, page.label("edits"), placeholder=page.label("no_edits"), help=page.label("edits_help")
    )
    try:
        edits = tuple(str(Edit.parse(each)) for each in typed)
        _experiment(model, text, Row("encoder", 0, 0, 0), edits)
    except InvalidEdit as error:
        st.warning(page.document.render("invalid", problem=str(error)), icon=":material/link_off:")
        return ()
    return edits


def _choose_row(page: LessonPage, text: str, model: str) -> Row:
    """Draw the controls for the head and the query."""
    entry = catalogue.entry(model)
    heads = [
        f"{kind} {head_name(layer, head)}"
        for kind in entry.kinds
        for layer, head in np.ndindex(entry.layers_of(kind), entry.heads)
    ]
    opening = f"encoder {opening_head(model)}"
    CAUSE_HEAD.follow(opening)
    left, right = st.columns([5, 6], wrap=False)
    with left:
        kind_name, numbers = CAUSE_HEAD.select(page.label("head"), heads, opening).split(" ")
    kind = cast("Kind", kind_name)
    layer, head = (int(number) - 1 for number in numbers.split("-"))
    words = _queries(model, text, kind)
    options = _options(words)
    with right:
        query = CAUSE_WORD.select(page.label("query"), options, options[_opening_query(words, kind)])
    return Row(kind, layer, head, options.index(query))


def _options(words: Sequence[str]) -> list[str]:
    return [f"{number} {word}" for number, word in enumerate(words, start=1)]


def _opening_query(words: Sequence[str], kind: Kind) -> int:
    """Return the index of the default query: "it", or in the decoder the token before *il* or *elle*."""
    if kind == "encoder":
        return words.index("it") if "it" in words else len(words) // 2
    return next((place - 1 for place, word in enumerate(words) if word in PRONOUNS), len(words) - 1)


# The picture


def _edit_buttons(page: LessonPage, chosen: Selection) -> None:
    """Draw the buttons that edit the row."""
    found, row, edit = chosen.experiment, chosen.row, chosen.edit
    moved = edit if edit and edit.source is not None else None
    source = found.source if moved is None or moved.source is None else moved.source
    options = _options(found.keys)
    controls.buttons(
        page.label("move", source=found.keys[source], weight=percent(float(found.row_before[source]))),
        {
            option: Edit(row.kind, row.layer, row.head, row.query, source, key)
            for key, option in enumerate(options)
            if found.allowed[key] and key != source
        },
        "move",
        chosen.change,
        options[moved.target] if moved and moved.target is not None else None,
    )
    ablations = {
        "ablate_row": Edit(row.kind, row.layer, row.head, row.query),
        "ablate_head": Edit(row.kind, row.layer, row.head),
    }
    with st.container(horizontal=True):
        for name, ablation in ablations.items():
            applied = edit == ablation
            label = page.label(name, query=found.queries[row.query], head=_head(page, row))
            st.button(
                label,
                type="primary" if applied else "secondary",
                icon=":material/undo:" if applied else ":material/volume_off:",
                on_click=chosen.change,
                args=(None if applied else ablation,),
            )
        st.button(
            page.label("undo"),
            icon=":material/restart_alt:",
            disabled=not chosen.edits,
            on_click=EDITS.set,
            args=([],),
        )


def _figure(page: LessonPage, chosen: Selection) -> None:
    """Draw the translation, the pronouns' probabilities and the row's weights, without and with edits."""
    found, edit, changed = chosen.experiment, chosen.edit, bool(chosen.edits)

    def table(key: str, title: str, measure: str, rows: Mapping[str, Sequence[float]], target: str) -> None:
        columns = [page.label("unchanged"), page.label("now")] if changed else [page.label(measure)]
        shown: list[ShareRow] = []
        for option, (one, other) in rows.items():
            place, _, label = option.rpartition(" ")
            shares = [one, other][: len(columns)]
            formatted = [percent(share, 1) for share in shares]
            marked = option == target
            shown.append(
                {"place": place, "label": label, "shares": shares, "written": formatted, "marked": marked}
            )
        share_table(f"cause {key}", title=title, row_kind="token", columns=columns, rows=shown)

    result, weights = st.columns(2, gap="medium")
    with result:
        before, now = (grammar.format_sentence(each) or END for each in (found.words_before, found.words_now))
        page.text("result", before=before, now=now, changed=changed, others=len(chosen.other_edits))
        if found.gender:
            so_far = found.words_before[: found.gender.step]
            label = page.label("next_word", word=so_far[-1]) if so_far else page.label("first_word")
            st.markdown(f":small[{markdown.plain(label)}]")
            pronouns = dict(
                zip(PRONOUNS, zip(found.gender.before, found.gender.now, strict=True), strict=True)
            )
            table("pronouns", label, "probability", pronouns, "")
        _edit_buttons(page, chosen)
    with weights:
        options = _options(found.keys)
        row = {
            options[key]: (float(found.row_before[key]), float(found.row_now[key]))
            for key in np.flatnonzero(found.allowed).tolist()
        }
        target = options[edit.target] if edit and edit.target is not None else ""
        table("weights", _head(page, chosen.row), "weight", row, target)


def _predict(page: LessonPage, chosen: Selection) -> None:
    """Draw the question about moving the weight to another noun, if there is one."""
    found, row = chosen.experiment, chosen.row
    target, after = found.other_noun(row.query), found
    if target is not None:
        moved = Edit(row.kind, row.layer, row.head, row.query, found.source, target)
        after = _experiment(chosen.model, chosen.text, row, (str(moved),))
    page.predict(
        query=chosen.query,
        head=_head(page, row),
        source=word_name(found.source, found.keys),
        target=word_name(target, found.keys) if target is not None else "",
        result=after.result,
        french=after.french,
    )


def _sentences(page: LessonPage) -> None:
    """Draw the effects of edits on held-out sentences; per variant, the bundled weights come first."""
    try:
        runs = held_out_results()
    except ModelFilesDamaged as error:
        st.error(markdown.plain(str(error)), icon=":material/error:")
        return
    order = list(dict.fromkeys(run.variant for run in runs))
    page.text(
        "sentences",
        pairs=runs[0].sentences // 2,
        runs=sorted(runs, key=lambda run: (order.index(run.variant), not run.shipped)),
        rest=min(min(run.ablated_rest, run.redirected_rest) for run in runs),
    )
