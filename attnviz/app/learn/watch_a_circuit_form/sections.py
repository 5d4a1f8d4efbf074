"""The page on how a circuit forms: a training of the storyteller, stored step by step, and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.curves import Axis, Colour, Dash, Line, Marker, curves
from attnviz.app.learn.film import play
from attnviz.app.learn.lesson import guess, not_shown, the_code
from attnviz.app.learn.live_training import train_live
from attnviz.app.learn.training import Learned, Training
from attnviz.app.page import stop
from attnviz.app.state.choices import FORMING_HEAD, FORMING_STEP, FORMING_STEPS, FORMING_VIEW, LIVE_SEED
from attnviz.app.weights_picture import weights_picture
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.storyteller import forming
from attnviz.trained.storyteller.forming import PROBE, Snapshot
from attnviz.trained.storyteller.grammar import CHANT
from attnviz.widgets.tokens import ShownToken

LINES, MATRIX = "Lines", "Matrix"
STEPS = (600, 1000, 1400, 2400)
_ENOUGH = 1400
QUARTERS = 0.25, 0.75  # of the words that are said again, copied
_STEPS_AXIS = Axis("steps of training")
_WORDS = len(PROBE) // 2
_WATCHED = _WORDS + _WORDS // 2  # the token whose row is told: in the middle of the second time


@dataclass(frozen=True, eq=False)
class ShownForming:
    """The stored steps, and the head on show, layer and head from 1."""

    snapshots: tuple[Snapshot, ...]
    head: tuple[int, int]

    @property
    def formed(self) -> int:
        """The place of the first snapshot with an induction head; the last, if there is none."""
        found = forming.formed(self.snapshots)
        return self.snapshots.index(found) if found else len(self.snapshots) - 1


def choose() -> ShownForming:
    """Draw the choice of the head on show; return it with the stored steps.

    Stops the page with a kind word if their file is missing or damaged.
    """
    try:
        snapshots = forming.shipped().snapshots
    except AttnvizError as error:
        stop(error, ":material/build:")
    layers, heads = snapshots[-1].copying.prefix_matching.shape
    options = [f"{layer}-{head}" for layer in range(1, layers + 1) for head in range(1, heads + 1)]
    layer, head = snapshots[-1].copying.induction_heads[0]
    chosen = FORMING_HEAD.select("Head on show", options, f"{layer}-{head}")
    layer, head = map(int, chosen.split("-"))
    return ShownForming(snapshots, (layer, head))


def question(chosen: ShownForming) -> None:
    """Ask how suddenly the copying comes."""
    some, most = (
        next(each for each in chosen.snapshots if each.copying.right >= least) for least in QUARTERS
    )
    steps, took = chosen.snapshots[-1].step, most.step - some.step
    guess(
        f"A model learns stories in {steps:,} steps. Some texts are random words that are said again. "
        f"Once it copies {percent(QUARTERS[0])} of them, how many steps later does it copy "
        f"{percent(QUARTERS[1])}?",
        [f"{count:,}" for count in sorted({took, *(steps // part for part in (8, 4, 2))})],
        right=f"{took:,}",
        because=f"After {some.step:,} steps it copies {percent(some.copying.right)} of them, after "
        f"{most.step:,} steps {percent(most.copying.right)}.",
    )


def picture(chosen: ShownForming) -> None:
    """Draw the slider, the head's weights after so many steps, and the curves."""
    steps = [snapshot.step for snapshot in chosen.snapshots]
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        slider, button = st.container(), st.container(width="content")
    with button:
        play(FORMING_STEP, steps)
    with slider:
        step = FORMING_STEP.slide("After how many steps of training", steps, steps[chosen.formed])
    snapshot = chosen.snapshots[steps.index(step)]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        name = f"{chosen.head[0]}-{chosen.head[1]}"
        st.header(f"Head {name} after {step:,} steps", anchor=False, width="content")
        with st.container(width="content"):
            view = FORMING_VIEW.segments("Picture", (MATRIX, LINES))
    _weights("forming", chosen.head, snapshot, view)
    st.markdown(_in_words(chosen.head, snapshot))
    _progress("forming", "What forms when", chosen.snapshots, step, steps[-1])


def text(chosen: ShownForming) -> None:
    """Say what forms when, and draw the losses."""
    snapshots = chosen.snapshots
    before, after, last = snapshots[chosen.formed - 1], snapshots[chosen.formed], snapshots[-1]
    st.header("All at once", anchor=False)
    st.markdown(
        f"At step **{before.step:,}** the highest prefix-matching score is "
        f"{percent(float(before.copying.prefix_matching.max()))}; at step **{after.step:,}** it is "
        f"**{percent(float(after.copying.prefix_matching.max()))}**. The *loss* (−ln of the right word's "
        f"probability) on words that are said **again** falls from {before.copying.second_loss:.1f} to "
        f"{after.copying.second_loss:.1f}, and in the end to {last.copying.second_loss:.2f}. On words said "
        f"**first**, nothing can be known: there it is {before.copying.first_loss:.1f}, then "
        f"{after.copying.first_loss:.1f}.\n\n"
        f"The score on the word *before* rises in these steps, too: from "
        f"{percent(float(before.copying.previous_word.max()))} to "
        f"{percent(float(after.copying.previous_word.max()))}. What copying is left without these "
        "heads is measured on *Induction heads*. Olsson et al. 2022 saw such a sudden "
        "change in larger language models, too."
    )
    lines = _lines(
        snapshots,
        ("said first", [each.copying.first_loss for each in snapshots], "dash", "square", "muted"),
        ("said again", [each.copying.second_loss for each in snapshots], "solid", "circle", "text"),
    )
    curves(
        "forming loss",
        lines,
        title="The loss on random words",
        across=_STEPS_AXIS,
        up=Axis("loss: −ln p of the right word", zero=True),
        at="after {x} steps",
        digits=2,
        height=140,
        alt=f"After {last.step} steps it is {last.copying.first_loss:.2f} on words said first, and "
        f"{last.copying.second_loss:.2f} on words said again.",
        caption="−ln of the right word's probability, in random words said twice.",
        filename="forming-loss",
    )


def train() -> None:
    """Draw the live training."""
    name = catalogue.STORYTELLER
    train_live(
        "The same training as above from other random numbers, broken off after as many steps as you choose: "
        "do the heads form at the same step?",
        _settings,
        {name: catalogue.entry(name).title},
        _draw_live,
    )


def _settings() -> Training:
    seed, steps = st.columns([2, 4], gap="medium", vertical_alignment="bottom")
    with seed:
        number = LIVE_SEED.draw("Seed")
    with steps:
        count = FORMING_STEPS.slide("Steps", STEPS, _ENOUGH)
    return Training(catalogue.STORYTELLER, number, count)


def _draw_live(latest: Progress[Learned]) -> None:
    """Draw what was learned so far, in the head that is next to an induction head."""
    snapshots = latest.found.snapshots
    scores = snapshots[-1].copying.prefix_matching
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    left, right = st.columns([7, 5], gap="large")
    with left, st.container(border=True):
        st.subheader(f"Head {layer + 1}-{head + 1} after {snapshots[-1].step:,} steps", anchor=False)
        _weights("live", (layer + 1, head + 1), snapshots[-1], MATRIX)
        st.markdown(_in_words((layer + 1, head + 1), snapshots[-1]))
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
    layer, number = head
    tokens = _tokens()
    weights = snapshot.shares[layer - 1, number - 1]
    weights_picture(
        f"{name} weights",
        weights[None],
        tokens,
        tokens,
        view="matrix" if view == MATRIX else "lines",
        query=_WATCHED,
        layer=layer,
        heads=[number],
        heading=f"Head {layer}-{number} after {snapshot.step} steps",
        note="An induction head has a diagonal below the words that are said again; a head that looks one "
        "word back, one beside the main diagonal.",
        caption=f"“{' '.join(PROBE)}” · head {layer}-{number} after {snapshot.step} steps of training",
        filename=f"attnviz-{name}-step{snapshot.step}",
    )


def _in_words(head: tuple[int, int], snapshot: Snapshot) -> str:
    """What the head does, and how well the model copies, in Markdown."""
    at, copying = (head[0] - 1, head[1] - 1), snapshot.copying
    key = int(snapshot.weights[(*at, _WATCHED)].argmax())
    share = float(snapshot.shares[(*at, _WATCHED, key)])
    followed = _WATCHED - _WORDS + 1
    what = ", which followed it the first time" if key == followed else ""
    return (
        f"From {markdown.code(PROBE[_WATCHED])}, said again, head {head[0]}-{head[1]} looks most at "
        f"{markdown.code(PROBE[key])}{what} (**{percent(share)}**). Over many random words it gives "
        f"**{percent(float(copying.prefix_matching[at]))}** to what followed the last time and "
        f"**{percent(float(copying.previous_word[at]))}** to the word before. Of the words said again, the "
        f"model copies **{percent(copying.right)}**."
    )


_Drawn = tuple[str, list[float], Dash, Marker, Colour]


def _lines(snapshots: Sequence[Snapshot], *drawn: _Drawn) -> list[Line]:
    at = [snapshot.step for snapshot in snapshots]
    return [
        Line(label, at, values, dash=dash, marker=marker, colour=colour)
        for label, values, dash, marker, colour in drawn
    ]


def _progress(name: str, title: str, snapshots: Sequence[Snapshot], marked: int, steps: int) -> None:
    """Draw the highest scores and the copying over the steps, with a line at `marked`."""
    found = [each.copying for each in snapshots]
    copied = [100 * each.right for each in found]
    matching = [100 * float(each.prefix_matching.max()) for each in found]
    back = [100 * float(each.previous_word.max()) for each in found]
    lines = _lines(
        snapshots,
        ("copied", copied, "solid", "circle", "text"),
        ("to what followed, in the best head", matching, "solid", "diamond", "weights"),
        ("to the word before, in the best head", back, "dash", "square", "key"),
    )
    curves(
        f"{name} progress",
        [*lines, Line("", (0, steps), (0, 100), dash=None)],
        title=title,
        across=_STEPS_AXIS,
        up=Axis("percent of the words, or of the weight", zero=True),
        at="after {x} steps",
        digits=1,
        marked=marked,
        height=180,
        alt=f"After {snapshots[-1].step} steps, {copied[-1]:.0f} % are copied; the best heads give "
        f"{matching[-1]:.0f} % to what followed, and {back[-1]:.0f} % to the word before.",
        caption="Measured in random words said twice, while a storyteller learned.",
        filename=f"{name}-progress",
    )


def code() -> None:
    """Show the functions behind the pictures."""
    the_code(
        ("attnviz.trained.storyteller.training", "train"),
        ("attnviz.trained.storyteller.copying", "watch"),
        ("attnviz.trained.storyteller.copying", "look"),
        ("attnviz.trained.storyteller.copying", "copying"),
    )


def limits(chosen: ShownForming) -> None:
    """Say what one could wrongly conclude."""
    steps, about = chosen.snapshots[-1].step, forming.shipped().about
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
