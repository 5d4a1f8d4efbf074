"""The lesson "Induction heads": repeated random words, and the effect of ablating heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
import streamlit as st

from attnviz.app.components.share_table import share_table
from attnviz.app.lessons import choosing
from attnviz.app.lessons.computed import cached_storyteller
from attnviz.app.lessons.induction import values
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.story import known_words, size
from attnviz.app.page import stop
from attnviz.app.state import memory
from attnviz.app.state.choices import EDITS, REPEATED, REPEATED_WORD
from attnviz.app.weights_picture import weights_picture
from attnviz.errors import AttnvizError, TextTooLong, quoted
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.text import head_name, joined, plural
from attnviz.trained.storyteller import grammar, reading
from attnviz.trained.storyteller.copying import MIN_SCORE, NUM_REPEATED, TEXTS, Copying, Heads
from attnviz.trained.storyteller.figures import stored
from attnviz.trained.storyteller.grammar import CHANT, TOKEN_LIMIT
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.widgets.tokens import ShownToken

NUM_WORDS = 12  # words of a random text
MIN_WORDS, MAX_WORDS = 3, (TOKEN_LIMIT - 1) // 2
CODE = (
    ("attnviz.app.lessons.induction.values", "repeated"),
    ("attnviz.trained.storyteller.copying", "measure_pass"),
)
_DRAWS = "number of draws of random words"
_OPENING_DRAW = 3

measured = cached_storyteller(values.measured)
_repeated = cached_storyteller(values.repeated)
_measured_after_start = cached_storyteller(values.measured_after_start)


def random_words(draw: int) -> str:
    """Return distinct random words from the storyteller's vocabulary; `draw` is the random seed."""
    rng = Random(draw)  # noqa: S311 - words are not secret
    return " ".join(grammar.words_twice(rng, NUM_WORDS)[1 : NUM_WORDS + 1])


OPENING = random_words(_OPENING_DRAW)


@dataclass(frozen=True)
class Selection:
    """The repeated words, the chosen word, and the ablated heads.

    Attributes:
        place: Index of the chosen word, from 0; the last word cannot be chosen.
        ablated: Edits that ablate heads, such as "decoder 1-2".
    """

    words: tuple[str, ...]
    place: int
    model: str
    ablated: tuple[str, ...]

    @property
    def word(self) -> str:
        """The chosen word."""
        return self.words[self.place]

    @property
    def following(self) -> str:
        """The word after the chosen word."""
        return self.words[self.place + 1]

    @property
    def repeated_token(self) -> int:
        """Position of the chosen word's second occurrence; [CHANT] is at 0."""
        return 1 + len(self.words) + self.place

    def measured(self, heads: Heads = ()) -> Copying:
        """Measure copying with these heads ablated; layers and heads count from 0."""
        return measured(_edits(heads), model=self.model)


def _edits(heads: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(str(Edit("decoder", *head)) for head in heads)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("induction") as page:
        with page.controls:
            words, place, model = _choose(page)
        with page.picture:
            picture = st.container()
            heads = _edits(np.ndindex(measured(model=model).prefix_matching.shape))
            ablated = EDITS.draw(page.label("ablated"), heads, placeholder=page.label("none"))
            chosen = Selection(words, place, model, tuple(sorted(ablated)))
            with picture:
                _picture(page, chosen)
        _explain(page, chosen)
        _predict(page, chosen)
        trainings = stored()
        page.further(
            page.section("every", _every, chosen),
            code=CODE,
            first=grammar.REPETITION_SHARES[0],
            later=grammar.REPETITION_SHARES[1],
            layers=SIZES[model].layers,
            heads=SIZES[model].n_heads,
            trainings=len(trainings),
            formed=sum(max(map(max, each.prefix_matching)) >= MIN_SCORE for each in trainings),
        )


def _choose(page: LessonPage) -> tuple[tuple[str, ...], int, str]:
    """Draw the controls for the words, the selected word and the model's size."""
    left, right = st.columns([7, 4])
    with left, st.container(horizontal=True, vertical_alignment="bottom"):
        box = st.container()
        st.button(
            page.label("other_words"),
            icon=":material/casino:",
            on_click=_draw_words,
        )
    with box:
        label = page.label("words")
        text = choosing.sentence(label, REPEATED, OPENING, catalogue.STORYTELLER, known_words)
        try:
            words = _checked(text)
        except AttnvizError as error:
            stop(error)
    options = _options(words)
    with right, st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container():
            word = REPEATED_WORD.select(page.label("chosen"), options, options[len(options) // 2])
        return words, options.index(word), size()


def _checked(text: str) -> tuple[str, ...]:
    """Return the words of a text.

    Raises:
        AttnvizError: there are too few or too many words, or a word is repeated.
    """
    allowed = f"Type {MIN_WORDS} to {MAX_WORDS} words."
    try:
        words = tuple(token.text for token in reading.tokens(text)[1:])
    except TextTooLong as error:
        raise AttnvizError(f"The text is too long. {allowed}") from error
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        raise AttnvizError(f"The text has {plural(len(words), 'word')}. {allowed}")
    if repeated := [word for word in words if words.count(word) > 1]:
        raise AttnvizError(f"{quoted(repeated[0])} is repeated. Type each word only once.")
    return words


def _options(words: Sequence[str]) -> list[str]:
    """Return all words except the last, numbered; no word follows the last."""
    return [f"{number} {word}" for number, word in enumerate(words[:-1], start=1)]


def _draw_words() -> None:
    draws = memory.get(_DRAWS, _OPENING_DRAW) + 1
    memory.put(_DRAWS, draws)
    REPEATED.set(random_words(draws))


def _picture(page: LessonPage, chosen: Selection) -> None:
    """Draw the first induction head, the first previous-word head, and a table of the copied words."""
    found, roles = _repeated(chosen.words, chosen.ablated, model=chosen.model), chosen.measured()
    about = page.label(
        "about",
        words=" ".join(chosen.words),
        model=SIZES[chosen.model].title,
        ablated=", ".join(chosen.ablated) or page.label("none"),
    )
    tokens = [
        ShownToken(label=word, name=word, title=word, special=word == CHANT)
        for word in (CHANT, *chosen.words, *chosen.words)
    ]

    def head_picture(role: str, heads: Heads, query: int) -> None:
        """Draw the weights of the first head of a role, with a pinned query."""
        if not heads:
            return
        layer, head = heads[0]
        title = page.label(f"{role}_title", head=head_name(layer, head))
        st.header(title, anchor=False)
        weights_picture(
            role,
            found.weights[layer, head][None],
            tokens,
            tokens,
            query=query,
            layer=layer + 1,
            heads=(head + 1,),
            heading=title,
            note=page.label(f"{role}_note", word=chosen.word, following=chosen.following),
            caption=f"{title}. {about}",
            filename=f"attnviz-{chosen.model}-{role}",
        )

    intact = chosen.measured()
    without = chosen.measured(intact.induction_heads).right
    page.text("copied", texts=TEXTS, all=intact.right, without=without)
    left, right = st.columns(2, gap="medium")
    with left:
        head_picture("stripe", roles.induction_heads, chosen.repeated_token)
    with right:
        head_picture("previous", roles.previous_word_heads, chosen.place + 2)
    weights = [
        (page.label(role, head=head_name(*heads[0])), each[heads[0]])
        for role, heads, each in (
            ("previous_column", roles.previous_word_heads, found.previous_word_weights),
            ("induction_column", roles.induction_heads, found.induction_weights),
        )
        if heads
    ]
    shown = [*weights, (page.label("right"), found.right)]
    share_table(
        "copied words",
        title=page.label("copied_title"),
        row_kind="",
        columns=[name for name, _ in shown],
        rows=[
            {
                "label": f"{word} → {following}",
                "place": str(place + 1),
                "shares": [float(numbers[place]) for _, numbers in shown],
                "marked": place == chosen.place,
            }
            for place, (word, following) in enumerate(pairwise(chosen.words))
        ],
        about=about,
    )


def _explain(page: LessonPage, chosen: Selection) -> None:
    intact = chosen.measured()
    control = values.control_heads(intact)
    page.explain(
        previous=_listed(intact.previous_word_heads),
        induction=_listed(intact.induction_heads),
        control=_listed(control),
        ablated=joined(chosen.ablated),
        texts=TEXTS,
        count=NUM_REPEATED,
        all=intact.right,
        without_induction=chosen.measured(intact.induction_heads).right,
        without_control=chosen.measured(control).right,
        with_start=_measured_after_start(model=chosen.model).right,
        without_ablated=measured(chosen.ablated, model=chosen.model).right,
    )


def _listed(heads: Heads) -> str:
    return ", ".join(head_name(*head) for head in heads)


def _predict(page: LessonPage, chosen: Selection) -> None:
    """Draw the question about the token with the largest weight in an induction head; no head is ablated."""
    head = chosen.measured().induction_heads[0]
    found = _repeated(chosen.words, model=chosen.model)
    row, first = found.weights[head][chosen.repeated_token], 1 + chosen.place
    strongest = int(row.argmax())
    offered = (first, first + 1, chosen.repeated_token - 1, 1)
    right_option = offered.index(strongest) if strongest in offered else len(offered)
    page.predict(
        count=len(chosen.words),
        word=chosen.word,
        following=chosen.following,
        head=head_name(*head),
        mark=["x" if option == right_option else " " for option in range(len(offered) + 1)],
        strongest=(CHANT, *chosen.words, *chosen.words)[strongest],
        largest=float(row[strongest]),
        weight=float(row[first + 1]),
        right=float(found.right[chosen.place]),
    )


def _every(page: LessonPage, chosen: Selection) -> None:
    """Draw a table of results with each head, all heads of a role, or the control heads ablated."""
    intact = chosen.measured()
    roles = {head: page.label("previous") for head in intact.previous_word_heads}
    roles |= {head: page.label("induction") for head in intact.induction_heads}
    heads: list[Heads] = [(head,) for head in np.ndindex(intact.prefix_matching.shape)]
    by_role = [each for each in (intact.previous_word_heads, intact.induction_heads) if len(each) > 1]
    rows = []
    for ablated in ((), *heads, *by_role, values.control_heads(intact)):
        found = chosen.measured(ablated)
        rows.append(
            {
                "ablated": _listed(ablated) or page.label("none"),
                "role": roles.get(ablated[0], "") if ablated else "",
                "score": float(found.prefix_matching.max()),
                "right": found.right,
            }
        )
    page.text("every", role=MIN_SCORE, rows=rows, texts=TEXTS, count=NUM_REPEATED)
