"""The lower half of the page on causes: every arrow tried, a picture that is no cause, and many sentences."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.lessons.cause import compute
from attnviz.app.lessons.cause.choices import ArrowSelection, go_to, named, run, undo
from attnviz.app.lessons.cause.sections import in_words, picture_of
from attnviz.app.lessons.computed import translated
from attnviz.app.lessons.measured import HeldOut, held_out, shipped
from attnviz.app.state.choices import TRANSLATOR
from attnviz.errors import InvalidEdit, ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import head_name, percent, signed_percent
from attnviz.trace import Floats

_effects = translated(compute.effects)

BESIDE = {catalogue.TRANSLATOR: "guided", f"{catalogue.TRANSLATOR}-decorative": "decorative"}
"""The two translators that are compared, by their names in the catalogue: which variants they are."""

UNGUIDED = "unguided"
"""The variant that was told nothing: what it does, nobody built."""

_MIN_SHOWN = 0.05  # smaller effects are left out of a sentence
_STRONG, _EMPTY = 0.9, 0.01  # a weight that one cannot overlook, and an effect that is none
_SHOWS_IT = "Chooses this translator at the top: the whole page then shows it, with nothing changed yet."
_HARDLY_ANY = 0.1  # of many sentences
_ABOVE_CHANCE = 0.75


def tried(chosen: ArrowSelection) -> None:
    """Draw what ablating any row of any encoder head does, beside what the rows look at."""
    found = _effects(chosen.model, chosen.text)
    if found is None:
        st.markdown("This translation has no *il* or *elle* to decide, so there is nothing to try.")
        return
    st.markdown(
        "Left, the **weights**: how much each word looks at "
        f"{named(_watched(chosen, found), found.words)}, in every encoder head. Right, the **effects**: with "
        f"that one row ablated, how much more or less probable is `{found.written}`? Strong on the left and "
        "empty on the right is a picture without an effect. Click a cell, and its arrow stands above."
    )
    with st.container(border=True):
        _draw(f"effects {chosen.model}", chosen, found)
    st.markdown(f"{_strongest(found)} {_pictures_only(chosen, found)} {_decoder(found)}")


def beside(chosen: ArrowSelection) -> None:
    """Draw two translators with the same changes: the picture is as good in both, the cause may not be."""
    st.markdown(
        "Two translators, trained on the same sentences and both told to look from *it* at the right noun. "
        "The second was **built** so that its picture is only a picture. **Drag either arrow**: both get the "
        "same change."
    )
    for column, model in zip(st.columns(2, gap="medium"), BESIDE, strict=True):
        with column.container(border=True, height="stretch"):
            st.subheader(catalogue.entry(model).title, anchor=False)
            st.caption(catalogue.entry(model).description)
            try:
                found = run(chosen, model, chosen.edits)
            except InvalidEdit as error:
                st.info(markdown.plain(str(error)), icon=":material/info:")
                continue
            picture_of(f"cause {model}", chosen, found, f"“{chosen.text}” · {catalogue.entry(model).title}")
            st.markdown(in_words(chosen, found))
            _where_it_reads(chosen, model)
            _in_many(model)
            if model != chosen.model:
                st.button(
                    "What decides here? Show this one above",
                    key=f"open {model}",
                    help=_SHOWS_IT,
                    icon=":material/search:",
                    on_click=_open,
                    args=(model,),
                )


def _open(model: str) -> None:
    TRANSLATOR.set(catalogue.entry(model).title)
    undo()


def _where_it_reads(chosen: ArrowSelection, model: str) -> None:
    """Say what the decoder reads when it chooses the pronoun."""
    found = _effects(model, chosen.text)
    if found is None:
        return
    heads = [
        f"{named(int(row.argmax()), found.words)} {percent(float(row.max()))} ({head_name(layer, head)})"
        for layer, of_layer in enumerate(found.read)
        for head, row in enumerate(of_layer)
    ]
    st.markdown(f"Unchanged, for `{found.written}` its cross-attention reads most: {', '.join(heads)}.")
    st.markdown(_strongest(found))


def _in_many(model: str) -> None:
    """Say what the same changes do in many sentences, and what follows."""
    try:
        training = shipped(BESIDE[model])
    except ModelFilesDamaged:
        return  # said below, with what to do
    st.markdown(f"**In many sentences:** {_in_numbers(training)}")


def _in_numbers(training: HeldOut) -> str:
    """What the changes do in many sentences, and what follows, in Markdown."""
    if training.moved < _HARDLY_ANY:
        verdict = (
            "The picture is as good, but it is **not the cause**: the decoder takes the gender elsewhere."
        )
    elif training.ablated > _ABOVE_CHANCE:
        verdict = (
            "The picture is as good, but the arrow is **not needed**: without it, the gender comes another "
            "way. Nor is it without effect: an arrow that points to the wrong noun can mislead."
        )
    else:
        verdict = "So here the arrow **is a cause** of the pronoun, and not in one sentence only."
    return (
        f"Head {training.head} finds the noun in {percent(training.found)}. With the row of *it* ablated, "
        f"the pronoun is right in {percent(training.ablated)}; with the arrow moved to the other noun, it "
        f"turns in {percent(training.moved)}. {verdict}"
    )


def many() -> None:
    """Draw what came of the same changes in many sentences that no translator ever saw."""
    try:
        runs = held_out()
    except ModelFilesDamaged as error:
        st.error(markdown.plain(str(error)), icon=":material/error:")
        return
    st.markdown(
        f"One sentence is an anecdote. Here are {runs[0].sentences // 2} pairs of new sentences: *it* means "
        "one noun in the first and the other, of the other gender, in the second (*minimal pairs*). In each, "
        "the row of *it* was changed, in a head that finds the noun as well as any:"
    )
    st.html(_table(_shipped_first(runs)))
    st.markdown(
        ":small[Every translator was trained more than once, from another **seed** of its random numbers. "
        "The one that this page runs stands first.]"
    )
    st.markdown(
        "Where the head alone decides, it finds the noun in nearly all sentences; ablated, it leaves the "
        "pronoun to a guess, which is right in about **half**; moved, it turns the pronoun in nearly all. "
        "Where ablation leaves more than half right, the gender comes another way, too."
    )
    _nobody_built(runs)


def _nobody_built(runs: Sequence[HeldOut]) -> None:
    """Say what became of the translator that was told nothing."""
    ours = shipped(UNGUIDED)
    others = [run for run in runs if not run.shipped and run.variant == UNGUIDED]
    found, right = ([percent(getattr(run, what)) for run in others] for what in ("found", "pronoun"))
    model = f"{catalogue.TRANSLATOR}-{UNGUIDED}"
    st.markdown(
        f"**And nobody built this one:** *{ours.title}* was trained on translations alone. "
        f"{_in_numbers(ours)} Trained from other seeds, it has another way: its best "
        f"head finds the noun, in the worse of the two readings, in {' and '.join(found)}; the pronoun "
        f"is right in {' and '.join(right)}."
    )
    st.button(
        f"Drag the arrow of its head {ours.head}, above",
        key=f"open {model}",
        help=_SHOWS_IT,
        icon=":material/search:",
        on_click=_open_at,
        args=(model, ours.head),
    )


def _open_at(model: str, head: str) -> None:
    _open(model)
    layer, number = (int(part) - 1 for part in head.split("-"))
    go_to("encoder", layer, number, None)


def _shipped_first(runs: Sequence[HeldOut]) -> list[HeldOut]:
    """Variant by variant, of each the training that comes with attnviz first."""
    variants = list(dict.fromkeys(run.variant for run in runs))
    return sorted(runs, key=lambda run: (variants.index(run.variant), not run.shipped))


_HEADS = (
    "Translator",
    "Head",
    "It finds the noun (worse reading)",
    "Ablated: pronoun right",
    "… and the rest",
    "Moved: pronoun turns",
    "… and the rest is right",
)


def _table(runs: Sequence[HeldOut]) -> str:
    """Fixed words and numbers only: nothing of a visitor's is in it."""
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEADS)
    rows = []
    for training in runs:
        shares = (
            training.found,
            training.ablated,
            training.ablated_rest,
            training.moved,
            training.moved_rest,
        )
        seed = "" if training.shipped else f" <small>another seed ({training.seed})</small>"
        cells = "".join(
            f'<td style="--share: {share:.3f}">{html.escape(percent(share, 1))}</td>' for share in shares
        )
        name = f'<th scope="row">{training.title}{seed}</th><td class="head">{training.head}</td>'
        rows.append(f"<tr>{name}{cells}</tr>")
    return (
        f'{_TABLE_STYLE}<div class="held-out" role="region" aria-label="Held-out sentences" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


_TABLE_STYLE = """
<style>
.held-out { overflow-x: auto; }
.held-out table { border-collapse: collapse; width: 100%; min-width: 40rem; }
.held-out td { font-variant-numeric: tabular-nums; }
.held-out th, .held-out td { padding: 0.4rem 0.7rem; text-align: left; border-bottom: 1px solid #8884; }
.held-out thead th { font-weight: 400; font-size: var(--small); vertical-align: bottom; }
.held-out tbody th { font-weight: 600; }
.held-out small { font-weight: 400; font-size: var(--small); }
.held-out td:not(.head) {
  background: linear-gradient(#6366f13d, #6366f13d) no-repeat left 0.7rem bottom 0.25rem /
    calc(var(--share) * (100% - 1.4rem)) 0.3rem;
}
</style>
"""


def _draw(name: str, chosen: ArrowSelection, found: compute.Effects) -> None:
    layers, heads = found.encoder.shape
    names = [head_name(layer, head) for layer in range(layers) for head in range(heads)]
    in_encoder = chosen.place.kind == "encoder"

    def pick(head: int, word: int) -> None:
        go_to("encoder", head // heads, head % heads, word)

    key = _watched(chosen, found)
    effects(
        name,
        words=found.words,
        heads=names,
        looks=found.weights[:, :, :, key].reshape(layers * heads, -1).T,
        changes=found.rows.reshape(layers * heads, -1).T,
        whole=found.encoder.ravel(),
        attention_title=f"looks at “{found.words[key]}”",
        changes_title=f"ablated, changes “{found.written}” by",
        head=chosen.place.layer * heads + chosen.place.head if in_encoder else None,
        word=chosen.place.query,
        on_pick=pick,
    )


def _watched(chosen: ArrowSelection, found: compute.Effects) -> int:
    """The English word whose weights are shown: the one that the arrow points at, unchanged."""
    if chosen.place.kind != "decoder":
        return chosen.strongest
    it = found.words.index("it") if "it" in found.words else 0
    return int(found.weights[-1, 0, it].argmax())


def _strongest(found: compute.Effects) -> str:
    """The row of the encoder with the largest effect on the pronoun, in Markdown."""
    layer, head, query = map(int, np.unravel_index(np.abs(found.rows).argmax(), found.rows.shape))
    change = float(found.rows[layer, head, query])
    if abs(change) < _MIN_SHOWN:
        return (
            "**No row of the encoder matters much by itself**: where one is ablated, others may stand in "
            "for it."
        )
    after = found.probability + change
    return (
        f"The strongest effect: with {named(query, found.words)} ablated in {head_name(layer, head)}, "
        f"`{found.written}` goes from {percent(found.probability)} to **{percent(after)}**."
    )


def _pictures_only(chosen: ArrowSelection, found: compute.Effects) -> str:
    """Rows that look at the word almost entirely, and change nothing, in Markdown."""
    strong = found.weights[..., _watched(chosen, found)] >= _STRONG
    rows = np.argwhere(strong & (np.abs(found.rows) < _EMPTY))
    listed = [f"{named(int(query), found.words)} in {head_name(layer, head)}" for layer, head, query in rows]
    if not listed:
        return ""
    return (
        f"At least {percent(_STRONG)} on the left and less than {percent(_EMPTY)} on the right: "
        f"{', '.join(listed)}."
    )


def _decoder(found: compute.Effects) -> str:
    """What ablating whole heads of the decoder does, in Markdown."""
    changes = {"decoder": found.decoder, "cross": found.cross}
    listed = [
        f"{kind} {head_name(layer, head)} ({signed_percent(float(change))})"
        for kind, of_heads in changes.items()
        for (layer, head), change in np.ndenumerate(of_heads)
        if abs(change) >= _MIN_SHOWN
    ]
    if not listed:
        return "No head of the decoder, ablated whole, changes it much: there, one may stand in for another."
    return f"Of the decoder's heads, ablated whole, these change it: {', '.join(listed)}."


def effects(
    name: str,
    /,
    *,
    words: Sequence[str],
    heads: Sequence[str],
    looks: Floats,
    changes: Floats,
    whole: Floats,
    attention_title: str,
    changes_title: str,
    head: int | None,
    word: int,
    on_pick: Callable[[int, int], None],
) -> None:
    """Draw two grids of the same words and heads.

    Args:
        words: the rows.
        heads: the columns: "1-1", "1-2" …
        looks: the weights, 0 to 1, [word, head].
        changes: by how much a probability changes if that word's row is ablated, −1 to 1, [word, head].
        whole: the same if the whole head is ablated, [head].
        attention_title, changes_title: what the tables are called.
        head, word: the cell to mark, from 0; head None: it is not in the tables.
        on_pick: called with the head and the word, from 0, of a cell that was clicked.
    """
    chosen = None if head is None else (word, head)
    changed = np.vstack([changes, whole])
    furthest = float(np.abs(changed).max()) or 1.0
    left, right = st.columns(2)
    with left:
        head_map(
            f"{name} looks",
            title=attention_title,
            values=looks,
            texts=[percent(weight, 1) for weight in looks.ravel().tolist()],
            printed=[f"{100 * weight:.0f}" for weight in looks.ravel().tolist()],
            low=(0, "0 %"),
            high=(1, "100 %"),
            selected=chosen,
            row_labels=words,
            column_labels=heads,
            on_pick=lambda row, column: on_pick(column, row),
        )
    with right:
        head_map(
            f"{name} changes",
            title=changes_title,
            values=changed,
            texts=[signed_percent(change) for change in changed.ravel().tolist()],
            printed=[f"{100 * change:+.0f}" if abs(change) >= 0.005 else "" for change in changed.ravel()],
            low=(-furthest, signed_percent(-furthest)),
            high=(furthest, signed_percent(furthest)),
            kind="diverging",
            selected=chosen,
            row_labels=[*words, "whole head"],
            column_labels=heads,
            on_pick=lambda row, column: on_pick(column, row) if row < len(words) else None,
        )
