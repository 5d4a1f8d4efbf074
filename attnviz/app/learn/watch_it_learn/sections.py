"""The page on learning: the trainings of a translator and of a language model, stored step by step."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.learn.film import headed, over_steps, slide
from attnviz.app.learn.lesson import guess, not_shown, the_code
from attnviz.app.learn.watch_it_learn.in_training import (
    LINES,
    MATRIX,
    TAUGHT,
    TAUGHT_CROSS,
    Head,
    first_head,
    heads_of,
    progress,
    translation,
    weights,
)
from attnviz.app.page import stop
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import LEARNER, LEARNING_VIEW, PROBE, TRAINING_STEP, WATCHED_HEAD
from attnviz.errors import AttnvizError
from attnviz.text import percent
from attnviz.trained import snapshots
from attnviz.trained.snapshots import STORED, Snapshot, Stored
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.variants import VARIANTS, Variant

_GOOD = 0.95  # of the pronouns, right
QUARTERS = 0.25, 0.75  # of the words that are said again, copied


def title_of(variant: str) -> str:
    """What a visitor reads: "Translator: taught where to look", "Language model of 2 layers"."""
    if variant in SIZES:
        return f"Language model of {SIZES[variant].layers} layers"
    title = VARIANTS[variant].title
    return f"Translator: {title[0].lower()}{title[1:]}"


def _about(variant: str) -> str:
    return SIZES[variant].description if variant in SIZES else VARIANTS[variant].description


LEARNERS = {title_of(variant): variant for variant in STORED}


@dataclass(frozen=True, eq=False)
class ShownTraining:
    """A training, and the watched text (a number from 0) and head."""

    variant: str
    training: Stored
    number: int
    head: Head

    @property
    def is_storyteller(self) -> bool:
        """Whether a language model is trained, and not a translator."""
        return self.variant in SIZES


def choose() -> ShownTraining:
    """Draw the choice of the training, of the sentence and of the head; return them.

    Stops the page if the training's file is missing or damaged.
    """
    learner, said, shown = st.columns([9, 12, 4])
    with learner:
        each = "\n\n".join(f"**{title}.** {markdown.plain(_about(one))}" for title, one in LEARNERS.items())
        variant = LEARNERS[LEARNER.select("Model", list(LEARNERS), help=each)]
    try:
        training = snapshots.stored(variant)
    except AttnvizError as error:
        stop(error, ":material/build:")
    number = 0
    if variant in SIZES:
        PROBE.keep()
    else:
        sentences = [written(probe.source) for probe in PROBES]
        with said:
            number = sentences.index(PROBE.select("Sentence", sentences))
    heads = {head.name: head for head in heads_of(training.snapshots[-1])}
    with shown if variant not in SIZES else said:
        name = WATCHED_HEAD.select("Head", list(heads), first_head(training.snapshots[-1]).name)
    return ShownTraining(variant, training, number, heads[name])


def question(chosen: ShownTraining) -> None:
    """Ask how long it takes to learn."""
    if chosen.is_storyteller:
        _how_suddenly(chosen.training)
    else:
        _how_long(chosen.training)


def _how_long(training: Stored) -> None:
    first, *_, last = training.snapshots
    good = next(snapshot for snapshot in training.snapshots if snapshot.measures["pronoun"] >= _GOOD)
    rest = [step for step in training.steps if step != good.step]
    options = sorted({rest[len(rest) * part // 8] for part in (1, 3, 5, 7)} | {good.step})
    guess(
        f"The translator learns in steps of {training.about['batch']} sentences. After how many "
        f"steps does it first choose rightly between *il* and *elle* in {percent(_GOOD)} of new sentences?",
        [f"{step:,}" for step in options],
        right=f"{good.step:,}",
        because=f"After {good.step:,} of its {last.step:,} steps the pronoun is right in "
        f"{percent(good.measures['pronoun'])} of them; before the first step, in "
        f"{percent(first.measures['pronoun'])}.",
        of_sentence=False,
    )


def quarters(training: Stored) -> tuple[Snapshot, Snapshot]:
    """Return the first snapshots of a storyteller that copy at least a quarter and three quarters."""
    some, most = (
        next(each for each in training.snapshots if each.measures["right"] >= least) for least in QUARTERS
    )
    return some, most


def _how_suddenly(training: Stored) -> None:
    some, most = quarters(training)
    steps, took = training.steps[-1], most.step - some.step
    guess(
        f"A model learns from texts in {steps:,} steps. In some, random words are said twice. Once it copies "
        f"{percent(QUARTERS[0])} of these words, how many steps later does it copy {percent(QUARTERS[1])}?",
        [f"{count:,}" for count in sorted({took, *(steps // part for part in (8, 4, 2))})],
        right=f"{took:,}",
        because=f"After {some.step:,} steps it copies {percent(some.measures['right'])} of them, after "
        f"{most.step:,} steps {percent(most.measures['right'])}.",
        of_sentence=False,
    )


def picture(chosen: ShownTraining) -> None:
    """Draw the slider, and what the model does after so many steps."""
    steps = chosen.training.steps
    asked = TRAINING_STEP.get(steps[0])
    if asked not in steps:  # another training's
        TRAINING_STEP.set(min(steps, key=lambda step: abs(step - asked)))
    step = slide(TRAINING_STEP, steps)
    snapshot = chosen.training.snapshots[steps.index(step)]
    if not chosen.is_storyteller:
        translation(PROBES[chosen.number], snapshot.glances[chosen.number])
    views = (MATRIX, LINES) if chosen.is_storyteller else (LINES, MATRIX)
    view = headed(chosen.head.name, step, LEARNING_VIEW, views)
    weights("learning", chosen.variant, chosen.head, chosen.number, snapshot, view)
    progress("learning", "What is learned when", chosen.variant, chosen.training.snapshots, step, steps[-1])


def text(chosen: ShownTraining) -> None:
    """Say where the weights come from."""
    st.markdown(
        "**Nobody writes the weights.** At first, nearly all numbers of the model are random, and its "
        "attention is nearly uniform. Then, step by step, every number is moved a little, so that the right "
        "words become more probable."
    )
    if not chosen.is_storyteller:
        return
    some, most = quarters(chosen.training)
    score, before = (
        [percent(each.value(name)) for each in (some, most)] for name in ("prefix_matching", "previous_word")
    )
    st.markdown(
        "A **circuit** is heads that do one thing together. Here, one attends to the word *before*; another "
        "finds, by that, what *followed* the last time, and the model copies it.\n\n"
        f"They form together, and suddenly. From step **{some.step:,}** to **{most.step:,}**, the share of "
        f"words copied goes from {percent(some.measures['right'])} to **{percent(most.measures['right'])}**, "
        f"the best head's weight on what followed from {score[0]} to **{score[1]}**, and that on the word "
        f"before from {before[0]} to **{before[1]}**. Olsson et al. 2022 found such a sudden change in "
        "larger models, too."
    )


def one_step(chosen: ShownTraining) -> None:
    """Say what a step of training is, and what else the loss of a translator counted."""
    reads = (
        "texts. At every place it says how probable each word is as the next one."
        if chosen.is_storyteller
        else "English sentences. At every place of their French translations it says how probable each word "
        "is as the next one."
    )
    st.markdown(
        f"1. The model reads some {reads}\n"
        "2. The **loss** $L$ says how wrong that was: −ln of the probability $p$ of the right word, averaged "
        "over the $n$ words.\n"
        "3. For each number θ of the model, the **gradient** says how the loss would change if θ were a "
        "little larger. Every θ is moved a little the other way; η is small:"
    )
    st.latex(
        r"L=-\frac1n\sum_{i=1}^{n}\ln p_i\qquad\theta\leftarrow\theta-\eta\,\frac{\partial L}{\partial\theta}"
    )
    cited_markdown(
        "(Adam, Kingma & Ba 2015, fits η to each θ, and takes an average of the latest gradients.)"
    )
    if not chosen.is_storyteller:
        st.markdown(_taught(VARIANTS[chosen.variant]))


def _taught(variant: Variant) -> str:
    """What else the loss of this translator counted, in Markdown."""
    weighed = {
        f"from *it* to the noun that it means, in {TAUGHT.name}": variant.referent,
        f"from *it* to the two nouns, added up, in {TAUGHT.name}": variant.candidates,
        f"from the place of the pronoun to *it*, in {TAUGHT_CROSS.name}": variant.alignment,
    }
    terms = [
        f"- plus {weight:g} · (−ln of the :violet[weight] {where})"
        for where, weight in weighed.items()
        if weight
    ]
    listed = "\n".join(terms).replace("-1)", "\u20111)")  # a head's name stays on its line
    return f"**But this translator was taught more.** Its loss counted also:\n\n{listed}"


def loss(chosen: ShownTraining) -> None:
    """Draw the loss over the steps."""
    found = chosen.training.snapshots
    first, last = found[0].measures, found[-1].measures
    if chosen.is_storyteller:
        over_steps(
            "learning loss",
            found,
            ("said first", "first_loss", "dash", "square", "muted"),
            ("said again", "second_loss", "solid", "circle", "text"),
            title="The loss on random words",
            up="loss: −ln p of the right word",
            digits=2,
            height=140,
            alt=f"After {found[-1].step} steps it is {last['first_loss']:.2f} on words said first, and "
            f"{last['second_loss']:.2f} on words said again.",
        )
        st.markdown(
            "Random words that are said **first** can only be guessed; on words that are said **again**, the "
            f"loss falls from **{first['second_loss']:.1f}** to **{last['second_loss']:.2f}**."
        )
        return
    over_steps(
        "learning loss",
        found,
        ("loss", "loss", "solid", "circle", "text"),
        title="The loss on held-out sentences",
        up="loss on held-out sentences: −ln p of the right word",
        digits=3,
        height=120,
        alt=f"In {found[-1].step} steps it falls from {first['loss']:.2f} to {last['loss']:.3f}.",
    )
    about = chosen.training.about
    st.markdown(
        f"The loss falls from **{first['loss']:.2f}** before the first step to **{last['loss']:.3f}** after "
        f"{found[-1].step:,}. It and the curves above are measured on {about['held out']} sentences, the "
        f"pronoun on {about['minimal pairs']}; their combinations of words were in no training."
    )


def code(chosen: ShownTraining) -> None:
    """Draw the code of the training loop and of the loss."""
    the_code(
        ("attnviz.trained.training", "train"),
        ("attnviz.trained.storyteller.training", "_loss")
        if chosen.is_storyteller
        else ("attnviz.trained.translator.teaching", "translation_loss", "attention_loss"),
    )


def limits(chosen: ShownTraining) -> None:
    """Say what one could wrongly conclude."""
    about, steps = chosen.training.about, chosen.training.steps
    not_shown(
        f"""
- **How every network learns.** This is one training, with seed {about["seed"]}. Train one with another seed,
  and compare.
- **What happened between two stored steps.** {len(steps)} of {steps[-1] + 1:,} are stored.
"""
    )
    if chosen.is_storyteller:
        not_shown(
            """
- **A surprise for the model.** Random words that are said again are a part of what it learns from, a larger
  one at first.
- **The cause.** That the heads and the copying come together does not show that the heads copy: *Induction
  heads* ablates them.
"""
        )
    else:
        not_shown(
            f"""
- **The whole recipe.** While the model learns, {percent(float(about["label smoothing"]))} of the certainty
  is spread over all words (*label smoothing*, Vaswani et al. 2017, section 5.4); the loss is measured without
  it.
- **What the decoder saw.** Its weights, and those across, are shown while it reads the *right* translation.
  The translation above is its own.
- **The cause.** That a head attends to the right noun does not show that the pronoun comes from there:
  *Cause* takes the weight away.
"""
        )
