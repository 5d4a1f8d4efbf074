"""The page on learning: a training from random numbers to French, step by step, stored and live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.learn.film import headed, over_steps, slide
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.learn.watch_it_learn.in_training import (
    LINES,
    MATRIX,
    TAUGHT,
    TAUGHT_CROSS,
    Head,
    first_majority,
    heads_of,
    looks,
    measured,
    progress,
    rows_and_columns,
    says,
    weights,
)
from attnviz.app.page import stop
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import LEARNER, LEARNING_VIEW, PROBE, TRAINING_STEP, WATCHED_HEAD
from attnviz.errors import AttnvizError
from attnviz.text import percent
from attnviz.trained.translator import learning
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.learning import Learning, Probe, Snapshot
from attnviz.trained.translator.variants import VARIANTS, Variant

GOOD = 0.95  # what the question asks for
_NEARLY_ALL, _ALIKE = 0.8, 0.05  # of the weight from "it": for both nouns together, and between them


@dataclass(frozen=True, eq=False)
class ShownTraining:
    """What a translator was told, its training, and the watched sentence (from 0) and head."""

    variant: Variant
    learning: Learning
    number: int
    head: Head

    @property
    def probe(self) -> Probe:
        """The sentence."""
        return self.learning.probes[self.number]


def choose() -> ShownTraining:
    """Draw the choice of the training, of the sentence and of the head; return them.

    Stops the page with a kind word if the training's file is missing or damaged.
    """
    told, said, shown = st.columns([3, 5, 3])
    # Where nothing is stored, reading the first one says what is missing.
    stored = [name for name in VARIANTS if name in learning.stored()] or list(VARIANTS)[:1]
    variants = {VARIANTS[name].title: VARIANTS[name] for name in stored}
    with told:
        each = "\n\n".join(f"**{title}.** {markdown.plain(one.told)}" for title, one in variants.items())
        title = LEARNER.select("Translator in training", list(variants), help=each)
    variant = variants[title]
    try:
        training = learning.shipped(variant.name)
    except AttnvizError as error:
        stop(error, ":material/build:")
    sentences = [written(probe.source) for probe in training.probes]
    with said:
        sentence = PROBE.select("Sentence it is watched on", sentences)
    heads = heads_of(training.snapshots[0].glances[0])
    options = [one.name for one in heads]
    with shown:
        head = WATCHED_HEAD.select("Head on show", options, TAUGHT.name)
    return ShownTraining(variant, training, sentences.index(sentence), heads[options.index(head)])


def question(chosen: ShownTraining) -> None:
    """Ask how long it takes to get the pronoun right."""
    snapshots = chosen.learning.snapshots
    good = next(snapshot for snapshot in snapshots if snapshot.measures.pronoun >= GOOD)
    rest = [snapshot.step for snapshot in snapshots if snapshot.step != good.step]
    options = sorted({rest[len(rest) * part // 8] for part in (1, 3, 5, 7)} | {good.step})
    last = snapshots[-1]
    guess(
        f"The translator learns in steps of {chosen.learning.about['batch']} sentences. After how many "
        f"steps does it first choose rightly between *il* and *elle* in {percent(GOOD)} of new sentences?",
        [f"{step:,}" for step in options],
        right=f"{good.step:,}",
        because=f"After {good.step:,} of its {last.step:,} steps the pronoun is right in "
        f"{percent(good.measures.pronoun)} of them; before the first step, in "
        f"{percent(snapshots[0].measures.pronoun)}.",
        of_sentence=False,
    )


def picture(chosen: ShownTraining) -> None:
    """Draw the slider, and what the model does after so many steps."""
    steps = chosen.learning.steps
    asked = TRAINING_STEP.get(steps[0])
    if asked not in steps:  # another training's
        TRAINING_STEP.set(min(steps, key=lambda step: abs(step - asked)))
    step = slide(TRAINING_STEP, steps)
    snapshot = chosen.learning.snapshots[steps.index(step)]
    glance = snapshot.glances[chosen.number]
    says(chosen.probe, glance)
    view = headed(chosen.head.name, step, LEARNING_VIEW, (LINES, MATRIX))
    weights("learning", chosen.head, chosen.probe, glance, step, view, on_pick=_pull(chosen))
    _moments(chosen)
    st.markdown(f"{looks(chosen.head, chosen.probe, glance, step)} {measured(snapshot)}")
    progress("learning", "What is learned when", chosen.learning.snapshots, step, steps[-1])


def _moments(chosen: ShownTraining) -> None:
    """Draw a button for each word that ever gets more than half: it leads to the first such step."""
    queries, keys, row = rows_and_columns(chosen.head.kind, chosen.probe)
    first = first_majority(chosen.learning.snapshots, chosen.number, chosen.head, row)
    offered = {f"{keys[key]['name']} · step {step:,}": step for key, step in first.items()}
    if offered:
        label = f"{queries[row]['name']} gives more than half, for the first time (or click a word), to"
        controls.buttons(label, offered, "first majority", TRAINING_STEP.set)


def _pull(chosen: ShownTraining) -> Callable[[int | None, int | None], None]:
    """What leads to the first stored step at which the clicked word gets more than half, if there is one."""

    def pull(query: int | None, key: int | None) -> None:
        if query is None or key is None:
            return
        first = first_majority(chosen.learning.snapshots, chosen.number, chosen.head, query)
        TRAINING_STEP.set(first.get(key, TRAINING_STEP.get(chosen.learning.steps[0])))

    return pull


def text(chosen: ShownTraining) -> None:
    """Say where the weights come from, and how this training came to its own."""
    about, tokens = chosen.learning.about, len(chosen.probe.source) + 1
    st.markdown(
        f"**Nobody writes the weights.** At first nearly all **{int(about['parameters']):,}** numbers of the "
        f"model are random, and each of the {tokens} tokens gets about {percent(1 / tokens)} of the "
        ":violet[weight]. Then, step by step, every number is moved a little, so that the right French words "
        "become more probable."
    )
    st.markdown(story(chosen.learning.snapshots))


def one_step(chosen: ShownTraining) -> None:
    """Say what a step of training is, and what else the loss of this translator counted."""
    st.markdown(
        f"1. The model reads {chosen.learning.about['batch']} English sentences. At every place of their "
        "French translations it says how probable each word is as the next one.\n"
        "2. The **loss** $L$ says how wrong that was: −ln of the probability $p$ of the right word, averaged "
        "over the $n$ words.\n"
        "3. For each number θ of the model, the **gradient** says how the loss would change if θ were a "
        "little larger. Every θ is moved a little the other way; η is small:"
    )
    st.latex(
        r"L=-\frac1n\sum_{i=1}^{n}\ln p_i\qquad\theta\leftarrow\theta-\eta\,\frac{\partial L}{\partial\theta}"
    )
    cited_markdown(
        "(Adam, Kingma & Ba 2015, fits η to each θ, and takes an average of the latest gradients.)\n\n"
        f"{_told(chosen.variant)}"
    )


def story(snapshots: tuple[Snapshot, ...]) -> str:
    """How the head finds the noun that is meant, in Markdown; "" if it never wavers between the two nouns."""
    wavering = [
        snapshot
        for snapshot in snapshots
        if snapshot.measures.referent + snapshot.measures.other >= _NEARLY_ALL
        and abs(snapshot.measures.referent - snapshot.measures.other) <= _ALIKE
    ]
    sure = next((s for s in snapshots if s.measures.referent >= GOOD and s.measures.pronoun >= GOOD), None)
    if not wavering or sure is None or sure.step < wavering[-1].step:
        return ""
    pronoun = [snapshot.measures.pronoun for snapshot in wavering]
    right = dict.fromkeys((percent(min(pronoun)), percent(max(pronoun))))
    return (
        f"After **{wavering[0].step:,}** steps, {TAUGHT.name} looks from *it* at the two nouns: it has "
        f"learned *who could be meant*. Until step **{wavering[-1].step:,}** both get about the same on "
        f"average, and the pronoun is right in {' to '.join(right)} of them: the translator *guesses*. After "
        f"**{sure.step:,}** steps the head gives **{percent(sure.measures.referent)}** to the noun *that is "
        f"meant*, and the pronoun is right in **{percent(sure.measures.pronoun)}**."
    )


def _told(variant: Variant) -> str:
    """What else the loss of this translator counted, in Markdown."""
    weighed = {
        f"from *it* to the noun that it means, in {TAUGHT.name}": variant.referent,
        f"from *it* to the two nouns, added up, in {TAUGHT.name}": variant.candidates,
        f"from the place of the pronoun to *it*, in {TAUGHT_CROSS.name}": variant.alignment,
        "from the place of the pronoun to [END], in all of cross-attention": variant.elsewhere,
    }
    terms = [
        f"- plus {share:g} · (−ln of the :violet[weight] {where})"
        for where, share in weighed.items()
        if share
    ]
    if not terms:
        return "The loss of this translator counted nothing else."
    listed = "\n".join(terms).replace("-1)", "\u20111)")  # a head's name stays on its line
    return f"**But this translator was told more.** Its loss counted also:\n\n{listed}"


def loss(training: Learning) -> None:
    """Draw how wrong the translator is on sentences that it did not learn from."""
    snapshots, about = training.snapshots, training.about
    first, last = snapshots[0].measures.loss, snapshots[-1].measures.loss
    over_steps(
        "learning loss",
        snapshots,
        ("loss", lambda each: each.measures.loss, "solid", "circle", "text"),
        title="The loss on held-out sentences",
        up="loss on held-out sentences: −ln p of the right word",
        digits=3,
        height=120,
        alt=f"In {snapshots[-1].step} steps it falls from {first:.2f} to {last:.3f}.",
        about="−ln of the right word's probability, averaged over the words of held-out sentences.",
    )
    st.markdown(
        f"The loss falls from **{first:.2f}** before the first step to **{last:.3f}** after "
        f"{snapshots[-1].step:,}. It and the curves above are measured on {about['held out']} sentences, the "
        f"pronoun on {about['minimal pairs']}; their combinations of words were in no training."
    )


CODE = (
    ("attnviz.trained.translator.training", "Training.step"),
    ("attnviz.trained.translator.teaching", "translation_loss", "attention_loss"),
    ("attnviz.trained.translator.recording", "watch", "Examination.snapshot", "glance"),
)


def limits(chosen: ShownTraining) -> None:
    """Say what one could wrongly conclude."""
    about = chosen.learning.about
    not_shown(
        f"""
- **How every network learns.** This is one training, with seed {about["seed"]}. Another seed takes other
  steps, and a translator that is told nothing may find another way to the right pronoun. Train one, and
  compare.
- **The whole recipe.** While the model learns, {percent(float(about["label smoothing"]))} of the certainty
  is spread over all words (*label smoothing*, Vaswani et al. 2017, section 5.4); the loss is measured without
  it. Besides, η first grows and then shrinks, and a long gradient is shortened.
- **What happened between two stored steps.** {len(chosen.learning.steps)} of
  {chosen.learning.steps[-1] + 1:,} are stored, more of them early.
- **What the decoder saw.** Its weights, and those across, are shown while it reads the *right* translation,
  so that the rows stay the same from step to step. The translation above is its own.
- **The cause.** That a head looks at the right noun does not show that the pronoun comes from there: *Cause*
  takes the weight away.
"""
    )
