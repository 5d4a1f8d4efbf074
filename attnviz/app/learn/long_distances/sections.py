"""The page on long distances: what an LSTM, with and without attention, and a transformer make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, log10
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnviz.analysis.picture import of_vectors
from attnviz.app import markdown
from attnviz.app.components.curves import Axis, Colour, Dash, Line, Marker, curves
from attnviz.app.learn.computed import long_distances as compute
from attnviz.app.learn.computed import translated
from attnviz.app.learn.english import english
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.learn.long_distances.stretched import (
    Network,
    ReadWord,
    Role,
    Sentence,
    stretched,
)
from attnviz.app.page import stop
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import CLAUSES, CLAUSES_SEED
from attnviz.errors import AttnvizError
from attnviz.text import joined, percent, plural, scientific
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import GENDERS, NAMES, Distances, Gender, Head, Name, Point
from attnviz.trained.translator.lengthening import MOST

_stretch = translated(compute.stretch)


NETWORK: dict[Name, str] = {
    "lstm": "LSTM",
    "lstm_attention": "LSTM with attention",
    "transformer": "Transformer",
}


_PRONOUN, _REST, _NOTHING = "what “it” means", "other words of the sentence", "nothing"
_COLUMNS = 64  # numbers in a row of the pictures of what is kept
_NEAR_ZERO = 0.01  # of a share: less than this is called no loss


class _Shares(NamedTuple):
    """Medians of the seeds: of all sentences, 0 to 1."""

    exact: float
    words: float
    pronoun: float


_LOOK: dict[Name, tuple[Marker, Colour]] = {
    "lstm": ("square", "text"),
    "lstm_attention": ("diamond", "query"),
    "transformer": ("circle", "weights"),
}
_LIKE_A_COIN = 0.6  # of two pronouns, the right one; a coin has 0.5
_MARKER: dict[Gender, Marker] = {"il": "circle", "elle": "ring"}
_GENDER_DASH: dict[Gender, Dash] = {"il": "solid", "elle": "dot"}


def measured() -> Distances:
    """What was measured of the networks; stops the page with a kind word where it is missing."""
    try:
        return distance.read()
    except AttnvizError as error:
        stop(error, ":material/build:")


def choose() -> tuple[str, int]:
    """Draw the choice of the sentence and of the clauses; return the sentence, and the clauses' seed."""
    left, right = st.columns([4, 1])
    with left:
        text = english()
    with right:
        seed = CLAUSES_SEED.draw("Clauses, draw", help="Another number puts in other clauses.")
    return text, seed


def question(found: Distances) -> None:
    """Ask what a network without attention loses first."""
    first, last = (middle(found, "lstm", place) for place in (0, found.longest_learned))
    lost = {
        _NOTHING: _NEAR_ZERO,
        _PRONOUN: first.pronoun - last.pronoun,
        _REST: first.exact - last.exact,
    }
    guess(
        "An **LSTM** reads a sentence word by word into a memory of fixed size, and translates from that "
        "alone. The sentence gets longer and longer. What does it get wrong first?",
        [_PRONOUN, _REST, _NOTHING],
        right=max(lost, key=lambda what: lost[what]),
        because=f"From {found.words[0]:.0f} to {found.words[found.longest_learned]:.0f} words between noun "
        f"and *it*, right pronouns go from {percent(first.pronoun)} to {percent(last.pronoun)}, right "
        f"translations from {percent(first.exact)} to {percent(last.exact)}.",
        of_sentence=False,
    )


def stretch(text: str, seed: int) -> compute.Stretched:
    """Draw the slider; return the sentence of that length, and what the networks do with it.

    Stops the page with a kind word where the sentence cannot be stretched.
    """
    clauses = CLAUSES.slide("Clauses put in between the noun and “it”", MOST)
    try:
        return _stretch(text, clauses, seed)
    except AttnvizError as error:
        stop(error)


def picture(shown: compute.Stretched, found: Distances) -> None:
    """Draw the sentence, what the networks keep of it and write, and that in words."""
    st.header(f"{shown.words_apart} words from noun to *it*", anchor=False)
    networks = [_network(name, getattr(shown, name), shown) for name in NAMES]
    stretched(
        "stretched",
        sentences=[_english(shown), _french(shown)],
        networks=networks,
        about=f"“{' '.join(shown.source)}” · {', '.join(network.name for network in networks)}",
    )
    st.markdown(
        ":small[Each cell is a number that is kept: blue if negative, orange if positive, on a scale of its "
        "vector's own.]"
    )
    st.markdown(" ".join(_told(name, getattr(shown, name), shown) for name in NAMES))
    st.markdown(_looks(shown))
    longest = max(shown.source_clauses)
    if longest > found.longest_learned:
        st.markdown(
            f":small[The networks learned from sentences with at most {found.longest_learned} clauses: "
            f"{longest} are more than they have ever seen.]"
        )


def _english(shown: compute.Stretched) -> Sentence:
    return _sentence(
        "English",
        "en",
        f"what the transformer’s cross-attention head {shown.across_head} reads for "
        f"“{shown.target[shown.choice]}”",
        zip((*shown.source, "[END]"), (*shown.source_clauses, 0), shown.across.tolist(), strict=True),
        {shown.referent: "referent", shown.pronoun: "pronoun"},
    )


def _french(shown: compute.Stretched) -> Sentence:
    ahead = len(shown.target) - shown.choice  # words that the decoder does not know yet
    return _sentence(
        "French, as it should be",
        "fr",
        f"what its decoder head {shown.back_head} reads for “{shown.target[shown.choice]}”",
        zip(shown.target, shown.target_clauses, [*shown.back.tolist(), *[None] * ahead], strict=True),
        {shown.choice: "pronoun", **dict.fromkeys(shown.named, "referent")},
    )


def _sentence(
    title: str,
    language: str,
    reads: str,
    words: Iterable[tuple[str, int, float | None]],
    roles: Mapping[int, Role],
) -> Sentence:
    """Each word is its text, its clause and its weight; roles are by its place."""
    read = [
        ReadWord(text=word, clause=clause, weight=weight, role=roles.get(place, ""))
        for place, (word, clause, weight) in enumerate(words)
    ]
    return Sentence(title=title, language=language, reads=reads, words=read)


def _network(name: Name, attempt: compute.Attempt, shown: compute.Stretched) -> Network:
    rows, columns = attempt.kept.shape
    right, whole = attempt.right, len(shown.target)
    exact = attempt.words == shown.target
    total = f"{rows} × {columns} = {rows * columns:,}"
    keeps = {
        "lstm": f"keeps {total} numbers, however long the sentence",
        "lstm_attention": f"keeps {columns} numbers a word, and {columns} more: {total}",
        "transformer": f"keeps {columns} numbers a word: {total}",
    }
    return Network(
        name=NETWORK[name],
        verdict=f"all {whole} words right" if exact else f"{right} of {whole} words right",
        exact=exact,
        keeps=keeps[name],
        levels=of_vectors(attempt.kept, np.abs(attempt.kept).max(axis=1, keepdims=True)).ravel().tolist(),
        columns=_COLUMNS,
        words=attempt.marked,
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
        f"The **{_named(name)}** {words}; after the right words, it {how} prefers *{preferred}* "
        f"({percent(chances[preferred])}) to *{other}* ({percent(chances[other])})."
    )


def _looks(shown: compute.Stretched) -> str:
    strongest = int(shown.across.argmax())
    read = markdown.code((*shown.source, "[END]")[strongest])
    named = markdown.code(" ".join(shown.target[place] for place in shown.named).replace("' ", "'"))
    weight = float(shown.back[list(shown.named)].sum())
    return (
        f"For *{shown.target[shown.choice]}*, the transformer’s cross-attention head {shown.across_head} "
        f"reads {read} most (**{percent(float(shown.across[strongest]))}**). Its decoder head "
        f"{shown.back_head} looks back: {shown.choice - shown.named[-1]} words back, {named} gets "
        f"**{percent(weight)}**."
    )


def text(found: Distances) -> None:
    """Say what a memory of fixed size is, what attention has instead, and who was right more often."""
    at = found.longest_learned
    right = joined([f"the {_named(name)} **{percent(middle(found, name, at).exact)}**" for name in NAMES])
    st.markdown(
        "An **LSTM** reads word after word into a memory, and then writes from that alone: all that it uses "
        "must be in the same few numbers, for 10 words as for 50. **Attention** keeps a vector for every "
        "word, and looks back at all of them for each word that it writes, in one step over any distance.\n\n"
        "The **LSTM with attention** is the LSTM, but its decoder also looks back. The **transformer** has "
        "no such memory: only attention connects one word with another.\n\n"
        f"In {found.sentences} sentences with *it* {found.words[at]:.0f} words behind its noun on average, "
        f"so many translations are right: {right}."
    )


def recurrent() -> None:
    """Draw the formulas of an LSTM, and of what attention has instead."""
    cited_markdown(
        "A **recurrent network** reads one word $x_t$ after the other and renews its memory each time. An "
        "**LSTM** (*long short-term memory*, Hochreiter & Schmidhuber 1997; its gate $f$: Gers et al. 2000) "
        "has two vectors for that, $h$ and $c$, and **gates** $f$, $i$, $o$ between 0 and 1 that decide what "
        "is kept, written and shown. They are computed from $x_t$, $h_{t-1}$ and a bias:"
    )
    st.latex(
        r"\begin{aligned} c_t &= f\odot c_{t-1} + i\odot\tanh(g)\\ h_t &= o\odot\tanh(c_t)\end{aligned}\;"
    )
    cited_markdown(
        "($\\odot$ multiplies entry by entry; $g$ is computed like the gates.) After the last word, a second "
        "LSTM starts from that memory and writes the translation; it never sees the sentence again "
        "(Sutskever et al. 2014). **Attention** compares a :blue[query] with all :red[keys] instead, and "
        "mixes the :green[values]:"
    )
    st.latex(
        r"\textcolor{violet}{w}=\operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{q}\,\textcolor{red}{K}^\top}{\sqrt{d}}\right)\qquad "
        r"o=\textcolor{violet}{w}\,\textcolor{green}{V}"
    )
    cited_markdown(
        "It came to recurrent networks first (Bahdanau et al. 2015; here in the form of Luong et al. 2015), "
        "and then without them (Vaswani et al. 2017)."
    )


def trained_alike(found: Distances) -> None:
    """Draw how the networks were trained, and which learning rate was chosen for each."""
    runs = {name: found.chosen(name) for name in NAMES}
    first = runs["lstm"][0]
    told = []
    for name in NAMES:
        taken = runs[name][0]
        tried = [
            f"{joined([percent(run.curve[-1].exact / found.tuned_on) for run in some])} "
            f"at {some[0].learning_rate:g}"
            for some in found.by_rate(name)
        ]
        minutes = np.median([run.seconds for run in runs[name]]) / 60
        told.append(
            f"- **{NETWORK[name]}**: {taken.parameters:,} learned numbers; {'; '.join(tried)}; so "
            f"{taken.learning_rate:g} was taken; "
            f"{plural(len(runs[name]), 'training')} of {minutes:.1f} minutes"
        )
    st.markdown(
        f"All three were trained on the same sentences with 0 to {found.longest_learned} clauses put in: "
        f"{first.steps:,} steps with {found.batch} sentences each, and nobody told them where to look. Each "
        f"learning rate was tried with {plural(len(runs['lstm']), 'seed')}; that with most right "
        f"translations of {found.tuned_on} others was taken. The list has the share of each seed, and the "
        "minutes of one processor core:\n\n" + "\n".join(told)
    )
    _learning_chart(found)


def measures(found: Distances) -> None:
    """Draw what was measured on many sentences."""
    st.markdown(
        f"Each point is measured on {found.sentences} sentences, in pairs that differ only in the last word, "
        "and so in the pronoun. Their combinations of words occur nowhere in the training. A line is the "
        "median of the seeds, its bars go from the lowest to the highest. To the right of the dotted line, "
        "sentences have more clauses than any that the networks learned from."
    )
    left, right = st.columns(2, gap="large")
    with left:
        _shares_chart(
            found, "The whole translation is right", "exact", lambda point: point.exact / found.sentences
        )
    with right:
        _shares_chart(found, "The pronoun is right", "pronoun", lambda point: point.pronoun / found.sentences)
    st.markdown(_measured_in_words(found))
    longest = found.longest_learned
    shares = [run.points[longest].pronoun / found.sentences for run in found.chosen("transformer")]
    like_a_coin = sum(share < _LIKE_A_COIN for share in shares)
    st.markdown(
        "So here it is **attention** that makes the difference: after equally many steps, the LSTM with "
        "attention translates more sentences rightly than the LSTM, at every length that they learned from. "
        "What the LSTM gets wrong is rarely the pronoun, but the rest of the sentence. Where "
        "the transformer is wrong within these lengths, only the pronoun is: in the longest of "
        f"these sentences, {like_a_coin} of its {len(shares)} trainings ended with a network that chooses it "
        "about as well as a coin. The picture above shows another one."
    )


def where_it_looks(found: Distances) -> None:
    """Draw what the transformer's heads give to the noun, and to the end of the sentence."""
    _weight_chart(found)
    st.markdown(_looks_in_words(found))


def gradients(found: Distances) -> None:
    """Draw how strongly the choice of the pronoun reacts to the noun's vector."""
    cited_markdown(
        "A network learns from **gradients**: if the noun’s vector $x$ moved a little, how much would the "
        "choice between *il* and *elle* move? In a recurrent network that reaction passes through every word "
        "in between, and may shrink at each (Bengio et al. 1994); attention takes one step. The median of "
        "the same sentences:"
    )
    st.latex(
        r"\lVert x\rVert\cdot\left\lVert\frac{\partial}{\partial x}"
        r"\log\frac{p(\text{right pronoun})}{p(\text{wrong pronoun})}\right\rVert\;"
    )
    left, right = st.columns(2, gap="large")
    with left:
        _gradient_chart(found, "before", lambda point: point.untrained)
    with right:
        _gradient_chart(found, "after", lambda point: point.gradient)
    cited_markdown(_gradients_in_words(found))


def _shares_chart(found: Distances, title: str, key: str, of: Callable[[Point], float]) -> None:
    """Draw what share is right."""
    lines = [_line(found, name, lambda point: 100 * of(point)) for name in NAMES]
    told = "; ".join(f"{line.label}: {_numbers(line)}" for line in lines)
    apart = ", ".join(f"{words:.0f}" for words in found.words)
    _chart(
        found,
        lines,
        title=title,
        up=Axis("right, %", zero=True, digits=0),
        alt=f"Percent right at {apart} words from noun to it. {told}.",
        key=f"distance-{key}",
    )


def _learning_chart(found: Distances) -> None:
    title = "How the training went"
    lines = []
    for name in NAMES:
        runs = found.chosen(name)
        shares = [[100 * moment.exact / found.tuned_on for moment in run.curve] for run in runs]
        lines.append(_over_seeds(name, [moment.step for moment in runs[0].curve], shares))
    told = "; ".join(f"{line.label}: {_numbers(line)}" for line in lines)
    st.subheader(title, anchor=False)
    curves(
        "distance-learning",
        lines,
        title=title,
        across=Axis("training steps", at="{x} steps"),
        up=Axis("right translations, %", zero=True, digits=0),
        alt=f"Percent of right translations, from the first to the last moment measured. {told}.",
        about=f"{found.tuned_on} sentences with 0 to {found.longest_learned} clauses put in.",
    )


def _gradient_chart(found: Distances, when: str, of: Callable[[Point], float]) -> None:
    lines = [_line(found, name, lambda point: log10(of(point))) for name in NAMES]
    if when == "before":
        lines.append(
            Line(
                "LSTM, forget bias 0",
                _words(found),
                [log10(reaction) for reaction in found.forgetful],
                dash="dot",
                marker="ring",
                colour="text",
            )
        )
    _chart(
        found,
        lines,
        title=f"Reaction to the noun’s vector, {when} training",
        up=Axis("log₁₀ of the reaction", digits=1),
        alt=_gradients_in_words(found).replace("*", ""),
        key=f"distance-gradient-{when}",
    )


def _line(found: Distances, name: Name, of: Callable[[Point], float]) -> Line:
    """A number of each point, over the seeds."""
    values = [[of(point) for point in run.points] for run in found.chosen(name)]
    return _over_seeds(name, _words(found), values)


def _over_seeds(name: Name, across: Sequence[float], values: Sequence[Sequence[float]]) -> Line:
    """The median of [seed, point], and bars from the lowest to the highest."""
    median, low, high = np.median(values, axis=0), np.min(values, axis=0), np.max(values, axis=0)
    marker, colour = _LOOK[name]
    return Line(NETWORK[name], across, median, low, high, marker=marker, colour=colour)


def _numbers(line: Line) -> str:
    return ", ".join(f"{number:.0f}" for number in np.asarray(line.y))


def _weight_chart(found: Distances) -> None:
    _chart(
        found,
        [
            Line(
                f"decoder head {head.name}, back at the noun, for {gender}",
                _words(found),
                _percents(head),
                dash=_GENDER_DASH[gender],
                marker=_MARKER[gender],
            )
            for gender, head in found.looks.back.items()
        ]
        + [
            Line(
                f"cross-attention head {found.looks.across.name}, at the last word and [END]",
                _words(found),
                _percents(found.looks.across),
                dash="dash",
                marker="diamond",
                colour="query",
            )
        ],
        title="Where the transformer looks",
        up=Axis("mean weight, %", zero=True, digits=1),
        alt=_looks_in_words(found).replace("*", ""),
        key="distance-weight",
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

    il, elle = (found.looks.back[gender] for gender in GENDERS)
    across = found.looks.across
    return (
        "**Where the transformer looks** as it chooses *il* or *elle*: of the heads that look back at the "
        "French written so far, the one that gives most to the noun that is meant, or its article, is "
        f"decoder head {il.name} where *il* is right ({told(il)}), and decoder head {elle.name} where *elle* "
        f"is right ({told(elle)}); each in half of the sentences. Of the heads that look across at the "
        f"English, cross-attention head {across.name} gives most to its end: to the last word, the reason by "
        f"which one knows what *it* means, and the [END] behind it, together {told(across)}. Nobody told "
        "them to."
    )


def _percents(head: Head) -> list[float]:
    return [100 * weight for weight in head.weights]


def _chart(
    found: Distances,
    lines: list[Line],
    *,
    title: str,
    up: Axis,
    alt: str,
    key: str,
    note: str = "",
) -> None:
    st.subheader(title, anchor=False)
    curves(
        key,
        lines,
        title=title,
        across=Axis("words from the noun to it", at="{x} words"),
        up=up,
        marked=_words(found)[found.longest_learned],
        alt=alt,
        about=f"{found.sentences} sentences a point. {note}With the most clauses learned from: "
        f"{found.words[found.longest_learned]:.0f} words.",
    )


def middle(found: Distances, name: Name, place: int) -> _Shares:
    """What a network gets right with so many clauses put in; −1: with the most."""
    points = [run.points[place] for run in found.chosen(name)]
    return _Shares(
        float(np.median([point.exact for point in points])) / found.sentences,
        float(np.median([point.words for point in points])),
        float(np.median([point.pronoun for point in points])) / found.sentences,
    )


def _named(name: Name) -> str:
    """As in the middle of a sentence."""
    return NETWORK[name].replace("Transformer", "transformer")


def _words(found: Distances) -> list[float]:
    """The distances, as they are printed."""
    return [round(words, 1) for words in found.words]


CODE = (
    ("attnviz.app.learn.long_distances.compute", "stretch"),
    ("attnviz.trained.translator.lengthening", "Elastic.stretched"),
    ("attnviz.trained.translator.recurrent", "RecurrentEncoderDecoder"),
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
    ("attnviz.trained.translator.contest", "pronoun_rows", "reactions"),
)


def limits(found: Distances) -> None:
    """Say what one could wrongly conclude."""
    at = found.longest_learned
    pronoun = middle(found, "lstm", at).pronoun
    learned, beyond = (middle(found, "transformer", place) for place in (at, -1))
    *_, slow = found.by_rate("lstm_attention")
    right = [str(run.curve[-1].exact) for run in slow]
    both_learned, both_beyond = (middle(found, "lstm_attention", place) for place in (at, -1))
    not_shown(
        f"""
- **That the LSTM’s memory is too small.** What it gets wrong, it may still learn in more steps.
- **That a recurrent network forgets what *it* means.** Masculine or feminine is little to carry: at the
  greatest distance that it learned from, this LSTM gets {percent(pronoun)} of the pronouns right.
- **That attention has no limits.** Twice the words, four times the comparisons. And what was absent in
  training is foreign to it: from {found.words[at]:.0f} to {found.words[-1]:.0f} words, the transformer goes
  from
  {percent(learned.exact)} right translations to {percent(beyond.exact)}, and from
  {percent(learned.pronoun)} right pronouns to {percent(beyond.pronoun)}. The LSTM with attention
  goes from {percent(both_learned.exact)} to {percent(both_beyond.exact)}, and from
  {percent(both_learned.pronoun)} to {percent(both_beyond.pronoun)}.
- **A verdict on the designs.** These are small networks of one size each, trained for minutes on sentences
  of one small grammar, {len(found.runs)} trainings in all. Besides the learning rate, one thing was chosen by
  its result, the form of the LSTM’s attention: another one, with scores divided by √d, had got no sentence
  right at a rate of {slow[0].learning_rate:g} with one seed, where
  this one gets {joined(right)} of {found.tuned_on} right with {len(slow)}.
- **Why a network decides.** A weight says what was read, not why (Jain & Wallace 2019). Nothing was tested by
  a change here, as on the page *Cause*.
"""
    )


def _measured_in_words(found: Distances) -> str:
    """The charts of what is right as sentences."""
    at = found.longest_learned
    told = []
    for name in NAMES:
        exact, words, pronoun = (
            "{}, {} and {}".format(*map(percent, shares))
            for shares in zip(*(middle(found, name, place) for place in (0, at, -1)), strict=True)
        )
        told.append(
            f"**{NETWORK[name]}**: at {found.words[0]:.0f}, {found.words[at]:.0f} and {found.words[-1]:.0f} "
            f"words, {exact} of its translations are right; {words} of its words; and {pronoun} of its "
            "pronouns."
        )
    return "\n\n".join(told)


def _gradients_in_words(found: Distances) -> str:
    """The charts of the reactions as sentences."""
    at = found.longest_learned

    def told(name: Name, of: Callable[[Point], float]) -> str:
        first, last = (
            scientific(float(np.median([of(run.points[place]) for run in found.chosen(name)])))
            for place in (0, at)
        )
        return f"the {_named(name)}’s goes from {first} to {last}"

    before = ", ".join(told(name, lambda point: point.untrained) for name in NAMES)
    after = ", ".join(told(name, lambda point: point.gradient) for name in NAMES)
    forgetful = scientific(found.forgetful[at])
    return (
        f"**Before training**, from {found.words[0]:.0f} to {found.words[at]:.0f} words, {before}. **After "
        f"training**, {after}. How much arrives before training depends on how an LSTM begins: the bias of "
        "its forget gate $f$ is 1 here, as Jozefowicz et al. (2015) advise, so that a memory keeps about "
        f"{percent(1 / (1 + exp(-1)))} of itself from word to word. With a bias of 0 it keeps about half, "
        f"and at {found.words[at]:.0f} words the reaction of the LSTM is {forgetful}."
    )
