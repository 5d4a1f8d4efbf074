"""The page on how a circuit forms: a training of the storyteller, stored step by step, and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.learn.film import headed, over_steps, slide
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.learn.live_training import train_live
from attnviz.app.learn.story import size
from attnviz.app.learn.training import Learned, Training
from attnviz.app.page import stop
from attnviz.app.references import cited_markdown
from attnviz.app.state import memory
from attnviz.app.state.choices import FORMING_HEAD, FORMING_STEP, FORMING_STEPS, FORMING_VIEW, LIVE_SEED
from attnviz.app.weights_picture import weights_picture
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.text import head_name, percent
from attnviz.trained.storyteller import forming
from attnviz.trained.storyteller.forming import PROBE, Snapshot
from attnviz.trained.storyteller.grammar import ANY_WORD, CHANT
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.widgets.tokens import ShownToken

LINES, MATRIX = "Lines", "Matrix"
STEPS = (600, 1000, 1400, 2400)
_ENOUGH = 1400
_SIZE = "the size whose forming was shown"
QUARTERS = 0.25, 0.75  # of the words that are said again, copied
_WORDS = len(PROBE) // 2
_WATCHED = _WORDS + _WORDS // 2  # the token whose row is told: in the middle of the second time


@dataclass(frozen=True, eq=False)
class ShownForming:
    """Who was trained, the stored steps, and the head on show, layer and head from 0."""

    model: str
    snapshots: tuple[Snapshot, ...]
    head: tuple[int, int]

    @property
    def formed(self) -> int:
        """The place of the first snapshot with an induction head; the last, if there is none."""
        found = forming.formed(self.snapshots)
        return self.snapshots.index(found) if found else len(self.snapshots) - 1

    @property
    def quarters(self) -> tuple[Snapshot, Snapshot]:
        """The first snapshots that copy at least these shares of the words."""
        some, most = (
            next(each for each in self.snapshots if each.copying.right >= least) for least in QUARTERS
        )
        return some, most


def choose() -> ShownForming:
    """Draw the choice of the size and of the head on show; return them with the stored steps.

    Stops the page with a kind word if their file is missing or damaged.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.container(width=300)
        model = size()
    try:
        snapshots = forming.shipped(model).snapshots
    except AttnvizError as error:
        stop(error, ":material/build:")
    layers, heads = snapshots[-1].copying.prefix_matching.shape
    options = {head_name(layer, head): (layer, head) for layer, head in np.ndindex(layers, heads)}
    with place:
        chosen = FORMING_HEAD.select(
            "Head on show", list(options), head_name(*snapshots[-1].copying.induction_heads[0])
        )
    shown = ShownForming(model, snapshots, options[chosen])
    if memory.get(_SIZE, model) != model:  # it formed at another step
        FORMING_STEP.set(snapshots[shown.formed].step)
    memory.put(_SIZE, model)
    return shown


def question(chosen: ShownForming) -> None:
    """Ask how suddenly the copying comes."""
    some, most = chosen.quarters
    steps, took = chosen.snapshots[-1].step, most.step - some.step
    guess(
        f"A model learns from texts in {steps:,} steps. In some, random words are said twice. Once it copies "
        f"{percent(QUARTERS[0])} of these words, how many steps later does it copy {percent(QUARTERS[1])}?",
        [f"{count:,}" for count in sorted({took, *(steps // part for part in (8, 4, 2))})],
        right=f"{took:,}",
        because=f"After {some.step:,} steps it copies {percent(some.copying.right)} of them, after "
        f"{most.step:,} steps {percent(most.copying.right)}.",
    )


def picture(chosen: ShownForming) -> None:
    """Draw the slider, the head's weights after so many steps, and the curves."""
    steps = [snapshot.step for snapshot in chosen.snapshots]
    step = slide(FORMING_STEP, steps, steps[chosen.formed])
    snapshot = chosen.snapshots[steps.index(step)]
    view = headed(f"Head {head_name(*chosen.head)}", step, FORMING_VIEW, (MATRIX, LINES))
    _weights("forming", chosen.head, snapshot, view)
    st.markdown(_in_words(chosen.head, snapshot))
    _progress("forming", "What forms when", chosen.snapshots, step, steps[-1])


def text(chosen: ShownForming) -> None:
    """Say what forms when."""
    some, most = chosen.quarters
    score, word_before = (
        [percent(float(getattr(each.copying, of).max())) for each in (some, most)]
        for of in ("prefix_matching", "previous_word")
    )
    cited_markdown(
        "A **circuit** is heads that do one thing together. Here: one looks at the word *before*; another "
        "finds, by that, what *followed* the last time. The model then copies it.\n\n"
        f"They form together, and suddenly. From step **{some.step:,}** to **{most.step:,}** of "
        f"{chosen.snapshots[-1].step:,}, the share of words copied goes from {percent(some.copying.right)} "
        f"to **{percent(most.copying.right)}**, the best head's weight on what followed from {score[0]} to "
        f"**{score[1]}**, and that on the word before from {word_before[0]} to **{word_before[1]}**. Olsson "
        "et al. 2022 saw such a sudden change in larger models, too."
    )


def loss(chosen: ShownForming) -> None:
    """Draw how wrong the model is on words that are said first, and again."""
    snapshots = chosen.snapshots
    before, after, last = (
        each.copying for each in (snapshots[chosen.formed - 1], snapshots[chosen.formed], snapshots[-1])
    )
    over_steps(
        "forming loss",
        snapshots,
        ("said first", lambda each: each.copying.first_loss, "dash", "square", "muted"),
        ("said again", lambda each: each.copying.second_loss, "solid", "circle", "text"),
        title="The loss on random words",
        up="loss: −ln p of the right word",
        digits=2,
        height=140,
        alt=f"After {snapshots[-1].step} steps it is {last.first_loss:.2f} on words said first, and "
        f"{last.second_loss:.2f} on words said again.",
        about="−ln of the right word's probability, in random words said twice.",
    )
    st.markdown(
        "The *loss* (−ln of the right word's probability) on words that are said **again** falls from "
        f"{before.second_loss:.1f} to {after.second_loss:.1f} as the heads form, and in the end to "
        f"{last.second_loss:.2f}. Words said **first** are drawn from {len(ANY_WORD)}, for which guessing "
        f"evenly has {log(len(ANY_WORD)):.1f}: there it stays at {before.first_loss:.1f}, then "
        f"{after.first_loss:.1f}."
    )


def train(chosen: ShownForming) -> None:
    """Draw the live training."""
    train_live(
        "The same training from other random numbers, as many steps as you choose: do the heads form at the "
        "same step?",
        lambda: _settings(chosen.model),
        {name: size.title for name, size in SIZES.items()},
        _draw_live,
    )


def _settings(model: str) -> Training:
    seed, steps = st.columns([2, 4], gap="medium", vertical_alignment="bottom")
    with seed:
        number = LIVE_SEED.draw("Seed")
    with steps:
        count = FORMING_STEPS.slide("Steps", STEPS, _ENOUGH)
    return Training(model, number, count)


def _draw_live(latest: Progress[Learned]) -> None:
    """Draw what was learned so far, in the head that is next to an induction head."""
    snapshots = latest.found.snapshots
    scores = snapshots[-1].copying.prefix_matching
    head = divmod(int(scores.argmax()), scores.shape[1])
    left, right = st.columns([7, 5], gap="large")
    with left, st.container(border=True):
        st.subheader(f"Head {head_name(*head)} after {snapshots[-1].step:,} steps", anchor=False)
        _weights("live", head, snapshots[-1], MATRIX)
        st.markdown(_in_words(head, snapshots[-1]))
    with right:
        _progress("live", "What this training learned when", snapshots, snapshots[-1].step, latest.total)


def _tokens() -> list[ShownToken]:
    return [
        ShownToken(
            label=word,
            name=f"{word} ({number})" if PROBE.count(word) > 1 else word,
            title=word,
            special=word == CHANT,
        )
        for number, word in enumerate(PROBE, start=1)
    ]


def _weights(name: str, head: tuple[int, int], snapshot: Snapshot, view: str) -> None:
    tokens, told = _tokens(), f"{head_name(*head)} after {snapshot.step} steps"
    weights_picture(
        f"{name} weights",
        snapshot.shares[head][None],
        tokens,
        tokens,
        view="matrix" if view == MATRIX else "lines",
        query=_WATCHED,
        layer=head[0] + 1,
        heads=[head[1] + 1],
        heading=f"Head {told}",
        note="An induction head has a diagonal below the words that are said again; a head that looks one "
        "word back, one beside the main diagonal.",
        caption=f"“{' '.join(PROBE)}” · head {told} of training",
        filename=f"attnviz-{name}-step{snapshot.step}",
    )


def _in_words(head: tuple[int, int], snapshot: Snapshot) -> str:
    """What the head does, and how well the model copies, in Markdown."""
    copying = snapshot.copying
    key = int(snapshot.weights[(*head, _WATCHED)].argmax())
    share = float(snapshot.shares[(*head, _WATCHED, key)])
    followed = _WATCHED - _WORDS + 1
    what = ", which followed it the first time" if key == followed else ""
    return (
        f"From {markdown.code(PROBE[_WATCHED])}, said again, head {head_name(*head)} looks most at "
        f"{markdown.code(PROBE[key])}{what} (**{percent(share)}**). Over many words it gives "
        f"**{percent(float(copying.prefix_matching[head]))}** to what followed the last time and "
        f"**{percent(float(copying.previous_word[head]))}** to the word before. Of the words said again, the "
        f"model copies **{percent(copying.right)}**."
    )


def _progress(name: str, title: str, snapshots: Sequence[Snapshot], marked: int, steps: int) -> None:
    """Draw the highest scores and the copying over the steps, with a line at `marked`."""

    def matching(each: Snapshot) -> float:
        return float(each.copying.prefix_matching.max())

    def back(each: Snapshot) -> float:
        return float(each.copying.previous_word.max())

    last = snapshots[-1]
    over_steps(
        f"{name} progress",
        snapshots,
        ("copied", lambda each: each.copying.right, "solid", "circle", "text"),
        ("to what followed, in the best head", matching, "solid", "diamond", "weights"),
        ("to the word before, in the best head", back, "dash", "square", "key"),
        title=title,
        height=140,
        up="percent of the words, or of the weight",
        percents_until=steps,
        marked=marked,
        alt=f"After {last.step} steps, {percent(last.copying.right)} are copied; the best heads give "
        f"{percent(matching(last))} to what followed, and {percent(back(last))} to the word before.",
        about="Measured in random words said twice, while a storyteller learned.",
    )


CODE = (
    ("attnviz.trained.storyteller.training", "train"),
    ("attnviz.trained.storyteller.copying", "watch"),
    ("attnviz.trained.storyteller.copying", "look"),
    ("attnviz.trained.storyteller.copying", "copying"),
)


def limits(chosen: ShownForming) -> None:
    """Say what one could wrongly conclude."""
    steps, about = chosen.snapshots[-1].step, forming.shipped(chosen.model).about
    not_shown(
        f"""
- **How every model learns.** This is one training, with seed {about["seed"]}. Train one with another seed,
  and compare.
- **A surprise for the model.** Random words that are said again are a part of what it learns from, a larger
  one at first.
- **What happened between two stored steps.** {len(chosen.snapshots)} of {steps + 1:,} are stored.
- **The cause.** That the heads and the copying come together does not show that the heads copy.
  *Induction heads* silences them.
"""
    )
