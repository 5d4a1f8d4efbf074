"""The page on causes: one arrow is dragged elsewhere, and the model translates again."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.arrow import Choice, Interference, Piece, arrow
from attnviz.app.lessons.cause import compute
from attnviz.app.lessons.cause.choices import (
    PRONOUNS,
    ArrowSelection,
    change,
    go_to,
    named,
    run,
    undo,
    written,
)
from attnviz.app.lessons.english import NOTHING
from attnviz.app.lessons.lesson import guess, not_shown
from attnviz.app.lessons.measured import variant_of
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator import grammar, lexicon
from attnviz.trained.translator.variants import VARIANTS

SAME, OTHERWISE = "the same as before", "something else altogether"
_LISTED = 3  # weights named in a sentence
_MIN_SHOWN = 0.05  # smaller weights are left out of a sentence


def question(chosen: ArrowSelection) -> None:
    """Ask what the translation says if the arrow goes to another noun; without one, if the head is silent."""
    gender = chosen.experiment.gender
    other = other_noun(chosen)
    if other is None or gender is None:
        _question_of_ablation(chosen)
        return
    move: Interference = {"change": "move", "source": chosen.strongest, "target": other}
    found = run(chosen, chosen.model, (written(chosen.place, move),))
    swapped = "elle" if gender.written == "il" else "il"
    turned = f"“{swapped}” instead of “{gender.written}”, the rest stays"
    right = SAME if found.words_now == found.words_before else turned if _turned(found) else OTHERWISE
    guess(
        f"In {chosen.place.head_in_words}, {chosen.reader} looks at {chosen.key(chosen.strongest)}. If we "
        f"force it to look at {chosen.key(other)} instead, what will the translation say?",
        [SAME, turned, OTHERWISE],
        right=right,
        because=f"{_french(found)}",
    )


def _question_of_ablation(chosen: ArrowSelection) -> None:
    head: Interference = {"change": "head", "source": None, "target": None}
    found = run(chosen, chosen.model, (written(chosen.place, head),))
    guess(
        f"If {chosen.place.head_in_words} hands over nothing to any word, what will the translation say?",
        [SAME, OTHERWISE],
        right=SAME if found.words_now == found.words_before else OTHERWISE,
        because=f"It says: {_french(found)}",
    )


def picture(chosen: ArrowSelection) -> None:
    """Draw the arrows of one row, and the translation; then say both in words."""
    st.header(f"Where {chosen.reader} looks in {chosen.place.head_in_words}", anchor=False)
    picture_of("cause", chosen, chosen.experiment)
    st.markdown(in_words(chosen, chosen.experiment))


def picture_of(name: str, chosen: ArrowSelection, found: compute.Experiment, about: str = "") -> None:
    """Draw the arrows of the chosen row in a translator, whose numbers these are, in a widget of this name.

    Whatever is changed there, is changed everywhere. Its file says `about`, or "" names the page's own model.
    """
    choices: list[Choice] = []
    label = ""
    if found.gender:
        so_far = found.words_before[: found.gender.step]
        label = f"How probable is the next word, {f'after “… {so_far[-1]}”' if so_far else 'the first one'}"
        choices = [
            {"word": word, "before": before, "now": now}
            for word, before, now in zip(PRONOUNS, found.gender.before, found.gender.now, strict=True)
        ]
    before, now = _pieces(found)
    arrow(
        name,
        title=chosen.place.head_in_words,
        words=found.keys,
        query=None if chosen.place.kind == "cross" else chosen.place.query,
        reader=found.queries[chosen.place.query],
        open_to=[bool(cell) for cell in found.open_to],
        before=found.row_before,
        now=found.row_now,
        interference=chosen.interference,
        translation=now,
        translation_before=before,
        choices=choices,
        choice_label=label,
        others=len(chosen.elsewhere),
        about=about,
        on_change=lambda interference: change(chosen, interference),
        on_undo=undo,
    )


def text(chosen: ArrowSelection) -> None:
    """Say what is changed, what is not, what follows, and what the loss of this translator counted."""
    found = chosen.experiment
    st.markdown(_what_changed(chosen))
    st.markdown(f":small[{markdown.plain(VARIANTS[variant_of(chosen.model)].description)}]")
    if chosen.edits and found.gender:
        if all(">" in edit for edit in chosen.edits):
            st.markdown(_verdict(chosen, found))
            _next_arrow(chosen, found)
        else:
            st.markdown(_fallback(found))
        return
    st.latex(
        r"\textcolor{blue}{\text{what the head hands over}}="
        r"\sum_{\text{words } j}\textcolor{violet}{w_j}\,\textcolor{green}{v_j}"
    )
    st.markdown(
        f"To {chosen.reader} the head hands over this sum: the :green[value] of every word, times its "
        ":violet[weight]. **Dragging** gives one word's weight to another. **Ablating** makes them all 0. "
        "Everything after that is computed again, by the same model."
    )


CODE = (
    ("attnviz.interventions.editing", "EditedAttention", "edited_heads", "edit_weights"),
    ("attnviz.app.lessons.cause.compute", "experiment", "effects"),
)

_LIMITS = """
- **That the arrow is the only way.** If ablating it changes nothing, another head may step in. If it changes
  the pronoun, other rows may be needed as well.
- **What the model does when left alone.** While it learned, no row was silent, and none was moved by hand.
- **That one word alone was read.** After the first layer, the vector at a word is a mixture of its whole
  sentence (Abnar & Zuidema 2020).
- **That models find such arrows by themselves.** Some had an attention loss, named beside the picture.
- **That attention never explains, or always does.** *Attention is not explanation* (Jain & Wallace 2019):
  other weights often lead to the same answer. *Attention is not not explanation* (Wiegreffe & Pinter 2019):
  that depends on what one asks of an explanation. So each arrow is tested.
"""


def limits() -> None:
    """Say what one could wrongly conclude."""
    not_shown(_LIMITS)


# Words


def in_words(chosen: ArrowSelection, found: compute.Experiment) -> str:
    """What the picture shows of a translator, in Markdown."""
    row = found.row_now
    strongest = [int(key) for key in np.argsort(-row, kind="stable")[:_LISTED]]
    listed = [
        f"{named(key, found.keys)} **{percent(float(row[key]))}**"
        for nth, key in enumerate(strongest)
        if row[key] >= _MIN_SHOWN or (nth == 0 and row[key] > 0)
    ]
    now = "now " if chosen.edits else ""
    looks = f"looks at {', '.join(listed)}" if listed else "reads nothing"
    told = f"In this head, {chosen.reader} {now}{looks}. The model {now}writes: {_french(found)}"
    if found.gender is None:
        return told
    changes = [
        f"`{word}` " + (f"{percent(before)} → **{percent(after)}**" if now else f"**{percent(after)}**")
        for word, before, after in zip(PRONOUNS, found.gender.before, found.gender.now, strict=True)
    ]
    return f"{told} How probable: {', '.join(changes)}."


def _french(found: compute.Experiment) -> str:
    """The translation after the change, in Markdown."""
    words = found.words_now
    return f"*{grammar.written(words)}*" if words else NOTHING


def _what_changed(chosen: ArrowSelection) -> str:
    interference = chosen.interference
    what, source, target = interference["change"], interference["source"], interference["target"]
    if not chosen.edits:
        return (
            "An arrow shows what is *read*. Does it also decide what is *written*? **Drag the pin** at its "
            "head to another word, or click that word. By keyboard: Tab to the pin, then ← and →."
        )
    if what == "none":
        changed = "In this row, nothing yet."
    elif what == "head":
        changed = "The head hands over nothing to any word."
    elif source is None or target is None:
        changed = f"To {chosen.reader}, the head hands over nothing any more."
    else:
        # Where more is changed, the row may have been another one already.
        changed = f"What {chosen.reader} gives to {chosen.key(source)} goes to {chosen.key(target)}. "
        if len(chosen.edits) == 1:
            moved = percent(float(chosen.experiment.row_before[source]))
            changed = (
                f"The **{moved}** that {chosen.reader} gave to {chosen.key(source)} go to "
                f"{chosen.key(target)}. "
            )
        changed += "The row still sums to 100 %."
    if chosen.also:
        also = "Changed elsewhere" if what == "none" else "Also changed"
        changed += f" {also}: {'; '.join(chosen.also)}."
    return f"{changed} Nothing else is touched: {_untouched(chosen)}, and no number that the model learned."


def _untouched(chosen: ArrowSelection) -> str:
    """The rows and heads that are not changed, whatever is."""
    if chosen.also:
        return "no other row of any head"
    entry = catalogue.entry(chosen.model)
    heads = sum(entry.layers_of(kind) for kind in entry.kinds) * entry.heads - 1
    other_heads = f"none of the other {heads} heads"
    if chosen.interference["change"] == "head":
        return other_heads
    return f"none of the other {len(chosen.experiment.queries) - 1} rows of this head, {other_heads}"


def _verdict(chosen: ArrowSelection, found: compute.Experiment) -> str:
    """What moved arrows show."""
    if found.words_now == found.words_before:
        return "**No word changed**: here, what was moved does not decide the pronoun, or not alone."
    if _turned(found):
        arrows = (
            "one arrow: it decides" if len(chosen.edits) == 1 else f"{len(chosen.edits)} arrows: they decide"
        )
        swaps = ", ".join(
            f"*{before}* became *{now}*"
            for before, now in zip(found.words_before, found.words_now, strict=True)
            if before != now
        )
        return (
            f"**It turned:** {swaps}. All other words stayed, and nothing was touched but {arrows} the "
            "gender of what turned here."
        )
    return "**Not only gender changed**, so this change alone does not say what the arrow is for."


def _next_arrow(chosen: ArrowSelection, found: compute.Experiment) -> None:
    """Lead to the adjective's arrow, where the pronoun turned and the adjective did not."""
    late = _later_adjective(found)
    if late is None or chosen.place.kind != "encoder":
        return
    adjective = named(late, found.queries)
    place = chosen.place
    if place.query == late and chosen.interference["change"] != "none":
        st.markdown(
            f"But the French for {adjective} did not turn with the pronoun, though a weight of its own row "
            "in this head was moved as well."
        )
        return
    here = ": the one in the picture. **Drag this one, too.**" if place.query == late else "."
    st.markdown(
        f"But the French for {adjective} did not turn with the pronoun. It has an arrow of its own{here}"
    )
    if place.query != late:
        st.button(
            f"The arrow of {adjective}",
            icon=":material/arrow_forward:",
            on_click=go_to,
            args=(place.kind, place.layer, place.head, late),
        )


def _later_adjective(found: compute.Experiment) -> int | None:
    """The English adjective whose French one kept its gender when the pronoun changed its; None: no such."""
    assert found.gender  # noqa: S101 - asked before
    step = found.gender.step
    if not _turned(found) or found.words_now[step] == found.words_before[step]:
        return None
    after = slice(step, None)
    kept = set(found.words_now[after]) & set(found.words_before[after])
    adjectives = {
        adjective.english
        for adjective in lexicon.ADJECTIVES
        if adjective.masculine != adjective.feminine and kept & {adjective.masculine, adjective.feminine}
    }
    return next((place for place, word in enumerate(found.queries) if word in adjectives), None)


def _fallback(found: compute.Experiment) -> str:
    """What ablating shows."""
    assert found.gender  # noqa: S101 - asked before
    (il_before, elle_before), (il, elle) = found.gender.before, found.gender.now
    turned = (il > elle) != (il_before > elle_before)
    preferred = "other" if turned else "same"
    return (
        f"**Of *il* and *elle*, the {preferred} one is more probable now.** What does that mean? A model "
        "that does not know which noun is meant must still write one of them. Try the other reading, like "
        "*narrow* for *tired*: if the same pronoun comes out of both, the model guesses, and over many such "
        "pairs it is right in **50 %**, as by tossing a coin."
    )


def _turned(found: compute.Experiment) -> bool:
    """Whether another word was written, and all that differs is gender."""
    before, now = (
        [lexicon.without_gender(word) for word in words] for words in (found.words_before, found.words_now)
    )
    return before == now and found.words_before != found.words_now


def other_noun(chosen: ArrowSelection) -> int | None:
    """The noun nearest to the word that looks, but for the one that it looks at; None if there is none."""
    found = chosen.experiment
    nouns = [
        place
        for place, word in enumerate(found.keys)
        if word in lexicon.NOUN and place != chosen.strongest and found.open_to[place]
    ]
    return min(nouns, key=lambda place: abs(place - chosen.place.query), default=None)


def _pieces(found: compute.Experiment) -> tuple[list[Piece], list[Piece]]:
    """Both translations word by word, unchanged and changed, and which words differ."""
    blocks = SequenceMatcher(a=found.words_before, b=found.words_now, autojunk=False).get_matching_blocks()
    same_before = {place for block in blocks for place in range(block.a, block.a + block.size)}
    same_now = {place for block in blocks for place in range(block.b, block.b + block.size)}
    return _cut(found.words_before, same_before), _cut(found.words_now, same_now)


def _cut(words: Sequence[str], same: set[int]) -> list[Piece]:
    """The sentence as one writes it, cut where a word begins."""
    sentence = grammar.written(words)
    starts: list[int] = []
    at = 0
    for word in words:
        starts.append(sentence.lower().index(word, at))
        at = starts[-1] + len(word)
    ends = [*starts, len(sentence)][1:]
    return [
        {"text": sentence[start:end], "differs": place not in same}
        for place, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
