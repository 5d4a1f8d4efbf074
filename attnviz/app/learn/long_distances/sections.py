"""The page on long distances: a sentence is stretched until a network without attention cannot hold it."""

from __future__ import annotations

from collections.abc import Callable
from math import log10
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import wilson
from attnviz.analysis.picture import of_vectors
from attnviz.app import markdown
from attnviz.app.components.curves import Axis, Colour, Dash, Line, Marker, curves
from attnviz.app.learn.computed import later, translated
from attnviz.app.learn.english import english
from attnviz.app.learn.lesson import formula, guess, not_shown, the_code
from attnviz.app.learn.long_distances.stretched import (
    Network,
    ReadWord,
    Role,
    Sentence,
    TargetWord,
    stretched,
)
from attnviz.app.page import stop
from attnviz.app.state.choices import CLAUSES, CLAUSES_SEED
from attnviz.errors import AttnvizError
from attnviz.text import percent
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import GENDERS, NAMES, Distances, Gender, Head, Name, Point, Spread
from attnviz.trained.translator.lengthening import MOST

if TYPE_CHECKING:
    from attnviz.app.learn.long_distances import compute
else:
    compute = later("attnviz.app.learn.long_distances.compute")

_stretch = translated(compute.stretch)


NETWORK: dict[Name, str] = {"recurrent": "LSTM, no attention", "transformer": "Transformer"}

_SHORT: dict[Name, str] = {"recurrent": "LSTM", "transformer": "transformer"}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_PRONOUN, _REST, _NOTHING = "what “it” means", "other words of the sentence", "nothing"
_DASH: dict[str, Dash] = {"untrained": "dot", "trained": "solid"}
_COLUMNS = 64  # numbers in a row of the pictures of what is kept
_NEAR_ZERO = 0.01  # of a share: less than this is called no loss


class _Look(TypedDict):
    marker: Marker
    colour: Colour


_MARKER: dict[Gender, Marker] = {"il": "circle", "elle": "ring"}
_GENDER_DASH: dict[Gender, Dash] = {"il": "solid", "elle": "dot"}


def measured() -> Distances:
    """What was measured of both networks; stops the page with a kind word where it is missing."""
    try:
        return distance.read()
    except AttnvizError as error:
        stop(error, ":material/build:")


def choose() -> tuple[str, int]:
    """Draw the choice of the sentence and of the clauses; return the sentence, and the clauses' seed."""
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        text = english()
    with right:
        seed = CLAUSES_SEED.draw("Clauses, draw", help="Another number puts in other clauses.")
    return text, seed


def question(found: Distances) -> None:
    """Ask what a network without attention loses first."""
    points = found.networks["recurrent"].points
    first, last = points[0], points[found.longest_learned]
    lost = {
        _NOTHING: _NEAR_ZERO,
        _PRONOUN: (first.pronoun - last.pronoun) / found.sentences,
        _REST: (first.exact - last.exact) / found.sentences,
    }
    guess(
        "An **LSTM** reads a sentence word by word into a memory of fixed size, and then translates from "
        "that memory alone. The sentence gets longer and longer. What does it lose first?",
        [_PRONOUN, _REST, _NOTHING],
        right=max(lost, key=lambda what: lost[what]),
        because=f"When *it* moves from {found.words[0]:.0f} to {found.words[found.longest_learned]:.0f} "
        f"words behind its noun, the LSTM goes from {_share(first.pronoun, found)} to "
        f"{_share(last.pronoun, found)} right pronouns, and from {_share(first.exact, found)} to "
        f"{_share(last.exact, found)} right translations.",
        key="guess_long_distances",
    )


def stretch(text: str, seed: int) -> compute.Stretched:
    """Draw the slider; return the sentence of that length, and what both networks do with it.

    Stops the page with a kind word where the sentence cannot be stretched.
    """
    clauses = CLAUSES.slide("Clauses put in between the noun and “it”", MOST)
    try:
        return _stretch(text, clauses, seed)
    except AttnvizError as error:
        stop(error)


def picture(shown: compute.Stretched, found: Distances) -> None:
    """Draw the sentence, what both networks keep of it and write, and that in words."""
    st.header(f"{shown.words_apart} words from noun to *it*", anchor=False)
    stretched(
        "stretched",
        sentences=[_english(shown), _french(shown)],
        networks=[_network(name, getattr(shown, name), shown) for name in NAMES],
    )
    st.markdown(" ".join(_told(name, getattr(shown, name), shown) for name in NAMES))
    st.markdown(_looks(shown))
    longest = max(shown.source_clauses)
    if longest > found.longest_learned:
        st.markdown(
            f":small[Both networks learned from sentences with at most {found.longest_learned} clauses: "
            f"{longest} are more than they have ever seen.]"
        )


def _english(shown: compute.Stretched) -> Sentence:
    roles: dict[int, Role] = {shown.referent: "referent", shown.pronoun: "pronoun"}
    words, clauses = (*shown.source, "[END]"), (*shown.source_clauses, 0)
    return Sentence(
        title="English",
        language="en",
        reads=f"what the transformer’s cross-attention head {shown.across_head} reads for "
        f"“{shown.target[shown.choice]}”",
        words=[
            ReadWord(text=word, clause=clause, weight=weight, role=roles.get(place, ""))
            for place, (word, clause, weight) in enumerate(
                zip(words, clauses, shown.across.tolist(), strict=True)
            )
        ],
    )


def _french(shown: compute.Stretched) -> Sentence:
    roles: dict[int, Role] = {shown.choice: "pronoun", **dict.fromkeys(shown.named, "referent")}
    ahead = len(shown.target) - shown.choice  # words that the decoder does not know yet
    weights = [*shown.back.tolist(), *[None] * ahead]
    return Sentence(
        title="French, as it should be",
        language="fr",
        reads=f"what its decoder head {shown.back_head} reads for “{shown.target[shown.choice]}”",
        words=[
            ReadWord(text=word, clause=clause, weight=weight, role=roles.get(place, ""))
            for place, (word, clause, weight) in enumerate(
                zip(shown.target, shown.target_clauses, weights, strict=True)
            )
        ],
    )


def _network(name: Name, attempt: compute.Attempt, shown: compute.Stretched) -> Network:
    rows, columns = attempt.kept.shape
    right, whole = attempt.right, len(shown.target)
    exact = attempt.words == shown.target
    keeps = (
        f"keeps 2 × {rows * columns // 2} = {rows * columns:,} numbers, however long the sentence"
        if name == "recurrent"
        else f"keeps {columns} numbers a word: {rows} × {columns} = {rows * columns:,}"
    )
    return Network(
        name=NETWORK[name],
        verdict=f"all {whole} words right" if exact else f"{right} of {whole} words right",
        exact=exact,
        keeps=keeps,
        levels=of_vectors(attempt.kept, float(np.abs(attempt.kept).max())).ravel().tolist(),
        columns=_COLUMNS,
        words=[TargetWord(text=word.text, mark=word.mark) for word in attempt.marked],
    )


def _told(name: Name, attempt: compute.Attempt, shown: compute.Stretched) -> str:
    whole = len(shown.target)
    words = (
        f"gets all {whole} words right"
        if attempt.words == shown.target
        else f"gets {attempt.right} of {whole} words right"
    )
    chances = {"il": attempt.il, "elle": attempt.elle}
    preferred, other = sorted(chances, key=lambda word: -chances[word])
    how = "rightly" if preferred == shown.target[shown.choice] else "wrongly"
    return (
        f"The **{_SHORT[name]}** {words}; given all that is right before the pronoun, it {how} prefers "
        f"*{preferred}* ({percent(chances[preferred])}) to *{other}* ({percent(chances[other])})."
    )


def _looks(shown: compute.Stretched) -> str:
    strongest = int(shown.across.argmax())
    read = markdown.code((*shown.source, "[END]")[strongest])
    named = markdown.code(" ".join(shown.target[place] for place in shown.named).replace("' ", "'"))
    weight = float(shown.back[list(shown.named)].sum())
    return (
        f"Where *{shown.target[shown.choice]}* is due, the transformer’s cross-attention head "
        f"{shown.across_head} reads {read} most (**{percent(float(shown.across[strongest]))}**). Of the "
        f"heads that look back at the French so far, {shown.back_head} gives the noun most: it looks "
        f"{shown.choice - shown.named[-1]} words back, at {named} (**{percent(weight)}**)."
    )


def text(found: Distances) -> None:
    """Say what a memory of fixed size is, and what attention has instead."""
    lstm, transformer = (found.networks[name] for name in NAMES)
    st.header("A memory, or a look back", anchor=False)
    st.markdown(
        "A **recurrent network** reads one word $x_t$ after the other and renews its memory each time. An "
        "**LSTM** (*long short-term memory*, Hochreiter & Schmidhuber 1997; its gate $f$: Gers et al. 2000) "
        "has two vectors for that, $h$ and $c$, and **gates** $f$, $i$, $o$ between 0 and 1, computed from "
        "$x_t$ and $h_{t-1}$, that decide what is kept, written and shown:"
    )
    formula(
        r"\begin{aligned} c_t &= f\odot c_{t-1} + i\odot\tanh(g)\\ h_t &= o\odot\tanh(c_t)\end{aligned}\;"
    )
    st.markdown(
        "($\\odot$ multiplies entry by entry; $g$ is computed like the gates; $\\tanh$ squeezes every "
        "number between −1 and 1.) After the last word, a second LSTM starts from that memory and writes "
        "the translation. It never sees the sentence again (Sutskever et al. 2014). Everything must fit "
        "into the same few numbers, for 10 words as for 50 (Bahdanau et al. 2015)."
    )
    st.markdown(
        "**Attention** keeps a vector for every word, and looks back at all of them whenever it writes one: "
        ":blue[query], :red[key] and :green[value] meet in one step, over any distance:"
    )
    formula(
        r"\textcolor{violet}{w}=\operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{q}\,\textcolor{red}{K}^\top}{\sqrt{d}}\right)\qquad "
        r"o=\textcolor{violet}{w}\,\textcolor{green}{V}"
    )
    st.markdown(
        "Both networks on this page were trained here on the same sentences, with 0 to "
        f"{found.longest_learned} clauses put in, and nobody told them where to look. The LSTM has "
        f"{lstm.parameters:,} learned numbers and saw {lstm.steps:,} batches of sentences; the transformer "
        f"has {transformer.parameters:,} and saw {transformer.steps:,}. The LSTM was given "
        f"{lstm.steps / transformer.steps:.1f} times as many because it learns more slowly: in that, the "
        "comparison favours the LSTM."
    )


def measures(found: Distances) -> None:
    """Draw what was measured on many sentences."""
    st.header("Measured on many sentences", anchor=False)
    st.markdown(
        f"Each point is measured on {found.sentences} sentences like the one above, in pairs that differ "
        "only in the last word, and so in the pronoun. Their combinations of words occur nowhere in the "
        "training. Bars are 95 % confidence intervals (Wilson 1927). Right of the dotted line, sentences "
        "are longer than any that the networks learned from."
    )
    left, right = st.columns(2, gap="large")
    with left:
        _shares_chart(found, "The whole translation is right", "exact", lambda point: point.exact)
        _shares_chart(found, "The pronoun is right", "pronoun", lambda point: point.pronoun)
    with right:
        _shares_chart(found, "Right words, of all words", "words", lambda point: point.words, "of the words")
        _weight_chart(found)
    st.markdown(_measured_in_words(found))
    st.markdown(_looks_in_words(found))
    st.header("How strongly the pronoun reacts to its noun", anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        _gradient_chart(found)
    with right:
        st.markdown(
            "A network learns from **gradients**: if the noun’s vector $x$ moved a little, how much would "
            "the choice between *il* and *elle* move? In a recurrent network that reaction has to pass "
            "through every word in between, and may shrink at each (Bengio et al. 1994); attention takes "
            "one step. Measured in the same sentences:"
        )
        formula(
            r"\lVert x\rVert\cdot\left\lVert\frac{\partial}{\partial x}"
            r"\log\frac{p(\text{right pronoun})}{p(\text{wrong pronoun})}\right\rVert\;"
        )
        st.markdown(_gradients_in_words(found))
        st.markdown(
            "So an LSTM can carry a word far, once it has learned to: its gates were made for that. But at "
            "first next to nothing of the end of a long sentence reaches its beginning, to learn from."
        )


def _shares_chart(
    found: Distances, title: str, filename: str, of: Callable[[Point], float], whose: str = ""
) -> None:
    """Draw a share of each network: of all sentences, counted and with its interval, or of something else."""
    lines, told = [], []
    for name in NAMES:
        values = np.array([of(point) for point in found.networks[name].points])
        shares, low, high = 100 * values, None, None
        if not whose:
            shares = shares / found.sentences
            low, high = 100 * np.array([wilson(int(right), found.sentences) for right in values]).T
        lines.append(Line(NETWORK[name], _words(found), shares, low, high, **_look(name)))
        told.append(f"{NETWORK[name]}: " + ", ".join(f"{share:.0f}" for share in shares))
    _chart(
        found,
        lines,
        title=title,
        up=Axis("right, %", zero=True),
        digits=0,
        alt=f"Percent {whose or 'right'} at {_listed(found)} words from noun to it. {'; '.join(told)}.",
        filename=f"distance-{filename}",
    )


def _gradient_chart(found: Distances) -> None:
    lines = []
    for name in NAMES:
        for state, dash in _DASH.items():
            spreads = _spreads(found, name, state)
            lines.append(
                Line(
                    f"{NETWORK[name]}, {state}",
                    _words(found),
                    [log10(each.middle) for each in spreads],
                    [log10(each.low) for each in spreads],
                    [log10(each.high) for each in spreads],
                    band=True,
                    dash=dash,
                    **_look(name),
                )
            )
    _chart(
        found,
        lines,
        title="Reaction to the noun’s vector",
        up=Axis("log₁₀ of the reaction: median, quartiles"),
        digits=1,
        alt=_gradients_in_words(found).replace("*", ""),
        filename="distance-gradient",
    )


def _weight_chart(found: Distances) -> None:
    _chart(
        found,
        [
            Line(
                f"head {head.name}, back at the noun, for {gender}",
                _words(found),
                _percents(head),
                dash=_GENDER_DASH[gender],
                marker=_MARKER[gender],
            )
            for gender, head in found.back.items()
        ]
        + [
            Line(
                f"head {found.across.name}, across at the last word and [END]",
                _words(found),
                _percents(found.across),
                dash="dash",
                marker="diamond",
                colour="query",
            )
        ],
        title="Where the transformer looks",
        up=Axis("mean weight, %", zero=True),
        digits=1,
        alt=_looks_in_words(found).replace("*", ""),
        filename="distance-weight",
        note="Back at the noun: those with il, and those with elle. ",
    )


def _looks_in_words(found: Distances) -> str:
    """The chart of the weights as sentences."""
    at = found.longest_learned

    def told(head: Head) -> str:
        first, middle, last = (f"{_percents(head)[place]:.0f} %" for place in (0, at, -1))
        return (
            f"{first} at {found.words[0]:.0f} words, {middle} at {found.words[at]:.0f} and {last} at "
            f"{found.words[-1]:.0f}"
        )

    il, elle = (found.back[gender] for gender in GENDERS)
    return (
        "**Where the transformer looks** as it chooses *il* or *elle*: of the heads that look back at the "
        "French written so far, the one that gives most to the noun that is meant, or its article, is head "
        f"{il.name} where *il* is right ({told(il)}), and head {elle.name} where *elle* is right "
        f"({told(elle)}); each in half of the sentences. Of the heads that look across at the English, head "
        f"{found.across.name} gives most to its end: to the last word, the reason by which one knows what "
        f"*it* means, and the [END] behind it, together {told(found.across)}. Nobody told them to."
    )


def _percents(head: Head) -> list[float]:
    return [100 * weight for weight in head.weights]


def _chart(
    found: Distances,
    lines: list[Line],
    *,
    title: str,
    up: Axis,
    digits: int,
    alt: str,
    filename: str,
    note: str = "",
) -> None:
    st.subheader(title, anchor=False)
    curves(
        f"{filename} chart",
        lines,
        title=title,
        across=Axis("words from the noun to it"),
        up=up,
        at="{x} words",
        digits=digits,
        marked=_words(found)[found.longest_learned],
        alt=alt,
        caption=f"{found.sentences} sentences a point. {note}Longest learned from: "
        f"{found.words[found.longest_learned]:.0f} words.",
        filename=filename,
    )


def _look(name: Name) -> _Look:
    """The two networks differ by marker and colour."""
    if name == "recurrent":
        return {"marker": "square", "colour": "text"}
    return {"marker": "circle", "colour": "weights"}


def _spreads(found: Distances, name: Name, state: str) -> list[Spread]:
    points = found.networks[name].points
    return [point.gradient if state == "trained" else point.untrained for point in points]


def _words(found: Distances) -> list[float]:
    """The distances, as they are printed."""
    return [round(words, 1) for words in found.words]


def _listed(found: Distances) -> str:
    return ", ".join(f"{words:.0f}" for words in found.words)


def _share(right: int, found: Distances) -> str:
    return percent(right / found.sentences)


def code() -> None:
    """Show the functions behind the picture."""
    the_code(
        ("attnviz.app.learn.long_distances.compute", "stretch"),
        ("attnviz.trained.translator.lengthening", "Elastic.stretched"),
        ("attnviz.trained.translator.recurrent", "RecurrentEncoderDecoder"),
        ("attnviz.transformer.attention", "scaled_dot_product_attention"),
        ("attnviz.trained.translator.contest", "pronoun_rows"),
        ("attnviz.trained.translator.contest", "reactions"),
        ("attnviz.analysis.intervals", "wilson"),
    )


def limits(found: Distances) -> None:
    """Say what one could wrongly conclude."""
    at = found.longest_learned
    pronoun = found.networks["recurrent"].points[at].pronoun
    attending = found.networks["transformer"].points
    not_shown(
        f"""
- **That a recurrent network forgets what *it* means.** Masculine or feminine is little to carry: at the
  greatest distance that it learned from, this LSTM gets {_share(pronoun, found)} of the pronouns right (the
  transformer, {_share(attending[at].pronoun, found)}). What does not fit into its memory is the whole
  sentence.
- **That recurrent networks cannot do better.** This one is small and was trained for minutes. Far larger
  ones, trained for days, translated newspapers, and read them backwards for it (Sutskever et al. 2014). With
  more numbers, a memory of fixed size overflows later.
- **That attention has no limits.** It compares every word with every other: twice the words, four times the
  work. And positions that it never saw in training are foreign to it: from {found.words[at]:.0f} words, the
  most that it learned from, to {found.words[-1]:.0f}, this transformer goes from
  {_share(attending[at].exact, found)} right translations to {_share(attending[-1].exact, found)}.
- **A verdict on both designs.** There is one network of each kind, trained once, on sentences of one small
  grammar. Its pronoun is asked for after all that is *right* before it; the whole translation is written
  without help.
- **Why a network decides.** A weight says what was read, not why (Jain & Wallace 2019); the reaction to a
  noun’s vector says how an infinitely small change of it would count. Neither was tested by a change, as on
  the page *Cause*.
"""
    )


def _measured_in_words(found: Distances) -> str:
    """The charts of what is right as sentences."""
    at = found.longest_learned
    told = []
    for name in NAMES:
        points = [found.networks[name].points[place] for place in (0, at, -1)]
        exact, pronoun = (
            [_share(count, found) for count in counts]
            for counts in zip(*((point.exact, point.pronoun) for point in points), strict=True)
        )
        words = [percent(point.words) for point in points]
        told.append(
            f"**{NETWORK[name]}**: at {found.words[0]:.0f}, {found.words[at]:.0f} and {found.words[-1]:.0f} "
            f"words, {exact[0]}, {exact[1]} and {exact[2]} of its translations are right; {words[0]}, "
            f"{words[1]} and {words[2]} of its words; and {pronoun[0]}, {pronoun[1]} and {pronoun[2]} of "
            "its pronouns."
        )
    return "\n\n".join(told)


def _gradients_in_words(found: Distances) -> str:
    """The chart of the reactions as sentences."""
    at = found.longest_learned
    told = []
    for state, when in (("untrained", "Before it has learned anything"), ("trained", "After training")):
        parts = []
        for name in NAMES:
            spreads = _spreads(found, name, state)
            first, last = (scientific(spreads[place].middle) for place in (0, at))
            parts.append(f"the {_SHORT[name]}’s goes from {first} to {last}")
        told.append(
            f"**{when}**, {' and '.join(parts)}, from {found.words[0]:.0f} to {found.words[at]:.0f} words."
        )
    return " ".join(told)


def scientific(number: float) -> str:
    """A positive number as one reads it: 0.37, 12.5, or 4.0 × 10⁻¹⁷."""
    if 0.01 <= number < 1000:
        return f"{number:.2f}"
    digits, power = f"{number:.1e}".split("e")
    return f"{digits} × 10{str(int(power)).translate(_SUPERSCRIPT)}"
