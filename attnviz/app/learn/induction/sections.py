"""The page on induction heads: random words are said twice, and heads are silenced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.token_bars import token_bars
from attnviz.app.learn import choosing
from attnviz.app.learn.computed import induction as compute
from attnviz.app.learn.computed import storytold
from attnviz.app.learn.induction.repeated_words import Next, Role, ShownHead, repeated_words
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.learn.story import known_words, size
from attnviz.app.page import stop
from attnviz.app.references import cited_markdown
from attnviz.app.state import memory
from attnviz.app.state.choices import REPEATED, REPEATED_WORD, SILENCED
from attnviz.errors import AttnvizError, quoted
from attnviz.models import catalogue
from attnviz.text import head_name, joined, percent, plural
from attnviz.trace import Floats
from attnviz.trained.storyteller import grammar, reading
from attnviz.trained.storyteller.figures import ROLE, Copying, Heads, stored
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT
from attnviz.trained.storyteller.sizes import SIZES

_repeated, measured = storytold(compute.repeated), storytold(compute.measured)
_without_path = storytold(compute.without_path)

_PARTS: Mapping[compute.Part, str] = {"query": "queries", "key": "keys", "value": "values"}
_COUNT = 12  # words of the opening, and of every draw
_FEWEST, _MOST = 3, (TOKEN_LIMIT - 1) // 2  # words
_DRAWN = "how often other words were drawn"


def _names(heads: Heads) -> tuple[str, ...]:
    return tuple(head_name(*head) for head in heads)


def random_words(draw: int) -> str:
    """Different random words of the storyteller's vocabulary."""
    dice = Random(draw)  # noqa: S311 - words are no secret
    return " ".join(grammar.said_twice(dice, _COUNT)[1 : _COUNT + 1])


_OPENING_DRAW = 3
OPENING = random_words(_OPENING_DRAW)


@dataclass(frozen=True)
class RepeatedWord:
    """Words that are said twice, the place of one of them (from 0, never the last), and who reads them."""

    words: tuple[str, ...]
    place: int
    model: str = catalogue.STORYTELLER

    @property
    def word(self) -> str:
        """The chosen word, as Markdown."""
        return markdown.code(self.words[self.place])

    @property
    def following(self) -> str:
        """The word after it, as Markdown."""
        return markdown.code(self.words[self.place + 1])

    @property
    def again(self) -> int:
        """The place of its token where it is said again; that of [CHANT] is 0."""
        return 1 + len(self.words) + self.place

    def run(self, silenced: tuple[str, ...] = ()) -> compute.Repeated:
        """What the storyteller makes of the words with these heads silenced."""
        return _repeated(self.words, silenced, model=self.model)

    def measured(self, silenced: Heads = (), *, mean: bool = False) -> Copying:
        """How well it copies many words with these heads, from 0, silenced; see `compute.measured`."""
        return measured(_names(silenced), mean=mean, model=self.model)

    @property
    def heads(self) -> Heads:
        """All heads of the model, from 0."""
        return tuple(np.ndindex(self.measured().prefix_matching.shape))


def choose() -> RepeatedWord:
    """Draw the choice of the words and of one of them; return both."""
    left, right = st.columns([3, 2])
    with left, st.container(horizontal=True, vertical_alignment="bottom"):
        box = st.container()
        st.button("Other words", icon=":material/casino:", on_click=_draw_words, help="Random ones")
    with box:
        text = choosing.sentence("Said twice", REPEATED, OPENING, catalogue.STORYTELLER, known_words)
        try:
            words = _to_be_repeated(text)
        except AttnvizError as error:
            stop(error)
    options = _options(words)
    with right, st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container():
            chosen = REPEATED_WORD.select("Said again", options, options[len(options) // 2])
        model = size()
    return RepeatedWord(words, options.index(chosen), model)


def _to_be_repeated(text: str) -> tuple[str, ...]:
    """The words of a text that can be said twice, each of which stands there once.

    Raises:
        AttnvizError: there are too few or too many, one stands there twice, or the storyteller knows it not.
    """
    words = tuple(token.text for token in reading.tokens(text)[1:])
    if not _FEWEST <= len(words) <= _MOST:
        raise AttnvizError(
            f"{plural(len(words), 'word')}, to be read twice: that does not do. Type {_FEWEST} to {_MOST} "
            "words."
        )
    if twice := [word for word in words if words.count(word) > 1]:
        raise AttnvizError(
            f"{quoted(twice[0])} stands there more than once, so it would not be known which one is said "
            "again. Type different words."
        )
    return words


def _options(words: Sequence[str]) -> list[str]:
    """All but the last, after which nothing follows."""
    return [f"{number} {word}" for number, word in enumerate(words[:-1], start=1)]


def _draw_words() -> None:
    drawn = memory.get(_DRAWN, _OPENING_DRAW) + 1
    memory.put(_DRAWN, drawn)
    REPEATED.set(random_words(drawn))


def question(chosen: RepeatedWord) -> None:
    """Ask where the strongest induction head looks."""
    head = chosen.measured().induction_heads[0]
    found = chosen.run()
    row, place = found.weights[head][chosen.again], 1 + chosen.place
    options = {
        "at the same word, where it was said first": place,
        "at the word that followed it there": place + 1,
        "at the word right before it": chosen.again - 1,
        "at the first word of all": 1,
    }
    right = max(options, key=lambda option: float(row[options[option]]))
    guess(
        f"A model reads {len(chosen.words)} random words, then the same again. Now it is at {chosen.word} "
        f"for the second time. Where does its head {head_name(*head)} look most, of these?",
        list(options),
        right=right,
        because=f"With no head silenced, it gives **{percent(float(row[place + 1]))}** to "
        f"{chosen.following}, which followed {chosen.word} the first time; the model expects "
        f"{chosen.following} next with **{percent(float(found.right[chosen.place]))}**.",
    )


def picture(chosen: RepeatedWord) -> None:
    """Draw the words with their arrows, and which heads are silenced."""
    st.header("Two looks back, and the word is copied", anchor=False)
    drawn, names = st.container(), dict(zip(_names(chosen.heads), chosen.heads, strict=True))
    silenced = tuple(sorted(SILENCED.draw("Silenced heads", list(names), placeholder="None")))
    found, roles = chosen.run(silenced), chosen.measured()
    heads = [
        *_shown("back", roles.previous_word_heads, found.back, silenced),
        *_shown("match", roles.induction_heads, found.match, silenced),
    ]
    expected = zip(found.likeliest, found.right.tolist(), strict=True)
    changed = f"without {joined(silenced)}" if silenced else "no head silenced"
    with drawn:
        repeated_words(
            "repeated words",
            words=chosen.words,
            heads=heads,
            expected=[Next(word=word, right=right) for word, right in expected],
            place=chosen.place,
            about=f"“{' '.join(chosen.words)}”, said twice · {SIZES[chosen.model].title} · {changed}",
            on_pick=lambda place: REPEATED_WORD.set(_options(chosen.words)[place]),
            on_silence=_silence,
        )
    st.markdown(_in_words(chosen, found, heads))
    if silenced:
        now = chosen.measured(tuple(names[head] for head in silenced))
        before, after = (percent(float(each.prefix_matching.max())) for each in (roles, now))
        st.markdown(
            f"In {compute.MEASURED_ON}, {changed}: the highest prefix-matching score goes from {before} to "
            f"**{after}**, and of the words said again **{percent(now.right)}** are copied instead of "
            f"{percent(roles.right)}."
        )


def _shown(role: Role, heads: Heads, weights: Floats, silenced: Sequence[str]) -> list[ShownHead]:
    """These heads as the picture shows them, with their weights, [layer, head, word]."""
    return [
        ShownHead(
            name=head_name(*head),
            role=role,
            weights=weights[head].tolist(),
            silenced=head_name(*head) in silenced,
        )
        for head in heads
    ]


def _silence(head: str) -> None:
    silenced = list(SILENCED.get([]))
    SILENCED.set([other for other in silenced if other != head] if head in silenced else [*silenced, head])


def _in_words(chosen: RepeatedWord, found: compute.Repeated, heads: Sequence[ShownHead]) -> str:
    """The chosen word's arrows, and what the model expects after it, in Markdown."""

    def said(role: Role) -> str:
        return ", ".join(
            f"{head['name']} {'silenced' if head['silenced'] else percent(head['weights'][chosen.place])}"
            for head in heads
            if head["role"] == role
        )

    likeliest = found.likeliest[chosen.place]
    copied = likeliest == chosen.words[chosen.place + 1]
    right = percent(float(found.right[chosen.place]))
    expects = (
        f"expects {chosen.following} next, with **{right}**"
        if copied
        else f"expects {markdown.code(likeliest)} next, and gives {chosen.following} **{right}**"
    )
    return (
        f"For this word: from {chosen.following} back to {chosen.word}, {said('back')}. "
        f"From the second {chosen.word} to "
        f"{chosen.following}: {said('match')}. The model {expects}."
    )


def text(chosen: RepeatedWord) -> None:
    """Say what the two heads do, and how they are found."""
    found = chosen.measured()
    back, match = (
        ", ".join(f"{head_name(*head)} {percent(float(scores[head]))}" for head in heads)
        for heads, scores in (
            (found.previous_word_heads, found.previous_word),
            (found.induction_heads, found.prefix_matching),
        )
    )
    cited_markdown(
        "Which random word is next? Only the first time can tell. That takes two looks, in two layers:\n\n"
        f"1. **Previous-word heads** ({back}) look one word back. So each word's vector also tells which "
        "word stood before it.\n"
        f"2. **Induction heads** ({match}) look at the word that has *this word as the one before it*: at "
        "what followed. The model then says it.\n\n"
        f"Percentages: mean weights in {compute.MEASURED_ON}; from {percent(ROLE)} on, a head has the role. "
        "That on what followed is the **prefix-matching score** (Olsson et al. 2022).\n\n"
        "**Press a head below the picture to silence it.** Silence one, then all of a line."
    )


def tried(chosen: RepeatedWord) -> None:
    """Draw what silencing does to many random words: each head alone, and each role together."""
    whole = chosen.measured()
    together = [heads for heads in (whole.previous_word_heads, whole.induction_heads) if len(heads) > 1]
    control = _control(chosen.heads, whole)
    told = [*((head,) for head in chosen.heads if _role((head,), whole)), *together, control]
    rows = [
        f"| {joined(_names(heads)) or 'none'} | {_role(heads, whole)} | "
        f"{percent(float(found.prefix_matching.max()))} | {percent(found.right)} | "
        f"{percent(chosen.measured(heads, mean=True).right) if heads in told else ''} |"
        for heads in ((), *((head,) for head in chosen.heads), *together, control)
        for found in [chosen.measured(heads)]
    ]
    head = "| silenced | role | highest score left | copied | copied, mean instead |"
    st.markdown("\n".join([head, "|:--|:--|--:|--:|--:|", *rows]))
    st.markdown(
        f"Measured in {compute.MEASURED_ON}, said twice. {_shared(chosen, whole)} As a control, "
        f"{joined(_names(control))}, in the same layers and without a role: without them, "
        f"{percent(chosen.measured(control).right)}. {_needed(chosen, whole)}\n\n"
        "A silenced head adds nothing, which no later layer has learned to read. *Mean instead*: it puts "
        "out its mean over these texts (mean ablation), which tells nothing of these words."
    )


def _needed(chosen: RepeatedWord, whole: Copying) -> str:
    """What copying loses with means in place of the control, and of the heads with a role, in Markdown."""
    groups = _control(chosen.heads, whole), whole.previous_word_heads, whole.induction_heads
    control, *roles = (chosen.measured(heads, mean=True).right for heads in groups)
    back, match = map(percent, roles)
    told = (
        f"With the mean instead, {percent(control)} are left without the control, {back} without the "
        f"previous-word heads, {match} without the induction heads"
    )
    if control > max(roles):
        told += ": **copying needs most what the heads with a role tell of these words**"
    return f"{told}."


def paths(chosen: RepeatedWord) -> None:
    """Draw what is copied if the induction heads' queries, keys or values lack the previous-word heads."""
    whole = chosen.measured()
    groups = whole.previous_word_heads, _control(chosen.heads, whole), whole.induction_heads
    back, control, match = (joined(_names(heads)) for heads in groups)
    cited_markdown(
        f"Each head makes a :blue[query], a :red[key] and a :green[value] of every word. Here, **one of the "
        f"three**, in the induction heads ({match}) alone, is computed as if the previous-word heads "
        f"({back}) were silenced. All else stays as it is (path patching, Wang et al. 2023)."
    )

    def left_without(heads: Heads, part: compute.Part) -> float:
        return _without_path(_names(heads), part, whole.induction_heads, model=chosen.model)

    left = {part: left_without(whole.previous_word_heads, part) for part in _PARTS}
    other = left_without(groups[1], "key")
    token_bars(
        "induction paths",
        title=f"copied in {compute.MEASURED_ON}, with {back} withheld from the …",
        bars=[
            {
                "number": number,
                "label": many,
                "size": left[part],
                "written": percent(left[part]),
                "hint": f"{back} withheld from the {many} of {match}: {percent(left[part])} copied",
                "marked": left[part] == min(left.values()),
            }
            for number, (part, many) in enumerate(_PARTS.items(), start=1)
        ],
    )
    told = (
        f"With nothing withheld, {percent(whole.right)} are copied. As a control, the other heads of that "
        f"layer ({control}), withheld from the keys: {percent(other)}."
    )
    if left["key"] < min(other, left["query"], left["value"]) / 2:
        told += (
            " So **it is the keys** that need the previous-word heads: the key of each word tells which word "
            "stood *before* it, and the query of the word said again finds it there. Such a way from head "
            "to head is called K-composition (Elhage et al. 2021)."
        )
    cited_markdown(told)


def _control(heads: Heads, whole: Copying) -> Heads:
    """The heads beside the previous-word heads that have no role."""
    layers = {layer for layer, _ in whole.previous_word_heads}
    return tuple(head for head in heads if head[0] in layers and not _role((head,), whole))


def _role(heads: Heads, whole: Copying) -> str:
    if set(heads) & set(whole.previous_word_heads):
        return "previous word"
    return "induction" if set(heads) & set(whole.induction_heads) else ""


def _shared(chosen: RepeatedWord, whole: Copying) -> str:
    """How heads of one role stand in for each other, in Markdown."""

    def copied(heads: Heads) -> float:
        return chosen.measured(heads).right

    told = []
    for role, heads in (
        ("one word back", whole.previous_word_heads),
        ("at what followed", whole.induction_heads),
    ):
        names = joined(_names(heads))
        if len(heads) == 1:
            told.append(
                f"Only {names} has the role to look {role}: without it, {percent(copied(heads))} are copied."
            )
        else:
            alone = [copied((head,)) for head in heads]
            told.append(
                f"**{names} share one role**, to look {role}: with one of them silenced, "
                f"{percent(min(alone))} to {percent(max(alone))} are still copied; with all of them, "
                f"{percent(copied(heads))}."
            )
    return " ".join(told)


CODE = (
    ("attnviz.app.learn.induction.compute", "repeated", "withheld"),
    ("attnviz.trained.storyteller.copying", "scores_of"),
    ("attnviz.trained.storyteller.copying", "copying"),
    ("attnviz.analysis.repeated", "repeated_scores"),
)


def limits(chosen: RepeatedWord) -> None:
    """Say what one could wrongly conclude."""
    first, later = grammar.CHANTS
    network = SIZES[chosen.model]
    formed = sum(bool(figures.induction_heads) for figures in stored().values())
    networks = "feed-forward networks" if network.d_feed_forward else "no feed-forward networks"
    not_shown(
        f"""
- **A surprise.** Some of the texts that this model learned from were random words said again: at first
  {percent(first)} of them, later {percent(later)}. They began with the sign [CHANT], and so it reads
  the words here.
- **Every language model.** This one has {network.layers} layers of {network.n_heads} heads, and
  {networks}. Olsson et al. 2022 found induction heads in models of many sizes; of the large ones they say
  that their evidence is weaker.
- **One head, one job.** A role is a mean weight in random words. In a story the same head may do something
  else.
- **Every training.** Another seed can give other heads the roles. Of the {len(stored())} trainings whose
  figures are stored, {formed} have induction heads. With fewer random words to learn from, one had none.
"""
    )
