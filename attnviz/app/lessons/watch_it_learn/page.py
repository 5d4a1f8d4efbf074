"""The lesson "Training": stored steps of a training, and one that runs on the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.lessons.film import Curve, headed, over_steps, slide
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.live_training import train_live
from attnviz.app.lessons.training import Learned, Training
from attnviz.app.lessons.watch_it_learn import values
from attnviz.app.lessons.watch_it_learn.values import LINES, MATRIX, Head
from attnviz.app.page import stop
from attnviz.app.state.choices import (
    LEARNER,
    LEARNING_VIEW,
    LIVE_SEED,
    LIVE_STEPS,
    PROBE,
    TRAINING_STEP,
    WATCHED_HEAD,
)
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.text import decimal, percent
from attnviz.trained import snapshots
from attnviz.trained.snapshots import STORED, Snapshot, Stored
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.variants import VARIANTS

STEPS = (100, 300, 600, 1000, 1400, 2000)
_CODE = ("attnviz.trained.training", "train")
_LOSS_OF_TRANSLATOR = ("attnviz.trained.translator.losses", "translation_loss", "attention_loss")
_LOSS_OF_STORYTELLER = ("attnviz.trained.storyteller.training", "_loss")


def title_of(variant: str) -> str:
    """Return the title: "Translator: guided attention", "Language model of 2 layers"."""
    if variant in SIZES:
        return f"Language model of {SIZES[variant].layers} layers"
    title = VARIANTS[variant].title
    return f"Translator: {title[0].lower()}{title[1:]}"


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
        """Whether the model is a language model, not a translator."""
        return self.variant in SIZES


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("watch_it_learn") as page:
        with page.controls:
            shown = _choose(page)
        with page.picture:
            step = _picture(page, shown)
        _explain(page, shown)
        _predict(page, shown)
        page.further(
            page.section("progress", _learned, shown, step),
            page.text_section("step", attention_loss=values.attention_loss(shown.variant)),
            page.section("live", _live, shown).with_choices(LIVE_SEED, LIVE_STEPS),
            code=(_CODE, _LOSS_OF_STORYTELLER if shown.is_storyteller else _LOSS_OF_TRANSLATOR),
        )


def _choose(page: LessonPage) -> ShownTraining:
    """Draw the choice of the training, the sentence and the head."""
    learner, text, shown = st.columns([9, 12, 4])
    with learner:
        variant = LEARNERS[LEARNER.select(page.label("model"), list(LEARNERS), help=_descriptions())]
    try:
        training = snapshots.stored(variant)
    except AttnvizError as error:
        stop(error, ":material/build:")
    number = 0
    if variant in SIZES:
        PROBE.keep()
    else:
        sentences = [written(probe.source) for probe in PROBES]
        with text:
            number = sentences.index(PROBE.select(page.label("sentence"), sentences))
    heads = {head.name: head for head in values.heads_of(training.snapshots[-1])}
    with shown if variant not in SIZES else text:
        first = values.first_head(training.snapshots[-1]).name
        name = WATCHED_HEAD.select(page.label("head"), list(heads), first)
    return ShownTraining(variant, training, number, heads[name])


def _descriptions() -> str:
    described = {title: SIZES.get(each) or VARIANTS[each] for title, each in LEARNERS.items()}
    return "\n\n".join(
        f"**{title}.** {markdown.plain(each.description)}" for title, each in described.items()
    )


def _picture(page: LessonPage, shown: ShownTraining) -> int:
    """Draw the slider, the loss and the attention; return the step."""
    steps = shown.training.steps
    asked = TRAINING_STEP.get(steps[0])
    if asked not in steps:  # a step of another training
        TRAINING_STEP.set(min(steps, key=lambda step: abs(step - asked)))
    step = slide(TRAINING_STEP, steps)
    snapshot = shown.training.snapshots[steps.index(step)]
    _loss(page, shown, step)
    views = (MATRIX, LINES) if shown.is_storyteller else (LINES, MATRIX)
    view = headed(shown.head.name, step, LEARNING_VIEW, views)
    values.weights("learning", shown.variant, shown.head, shown.number, snapshot, view)
    if not shown.is_storyteller:
        _now(page, shown.number, snapshot)
    return step


def _now(page: LessonPage, number: int, snapshot: Snapshot) -> None:
    """Write the translation of a snapshot, and the probabilities of the two pronouns."""
    glance = snapshot.glances[number]
    page.text(
        "now",
        french=values.translation(glance),
        right=glance.spoken == PROBES[number].target,
        il=glance.il / 1000,
        elle=glance.elle / 1000,
    )


def _loss(page: LessonPage, shown: ShownTraining, step: int) -> None:
    found = shown.training.snapshots
    curves: tuple[Curve, ...] = ((page.label("loss"), "loss", "solid", "circle", "text"),)
    if shown.is_storyteller:
        curves = (
            (page.label("first"), "first_loss", "dash", "square", "muted"),
            (page.label("again"), "second_loss", "solid", "circle", "text"),
        )
    losses = "; ".join(f"{label} {decimal(found[-1].value(of), 3)}" for label, of, *_ in curves)
    over_steps(
        "learning loss",
        found,
        *curves,
        title=page.label("loss_storyteller" if shown.is_storyteller else "loss_translator"),
        up=page.label("loss_axis"),
        digits=3,
        height=90,
        alt=page.label("loss_alt", step=found[-1].step, losses=losses),
        marked=step,
    )


def _explain(page: LessonPage, shown: ShownTraining) -> None:
    if shown.is_storyteller:
        quarter, three_quarters = values.quarters(shown.training)
        page.explain(storyteller=True, from_step=f"{quarter.step:,}", to_step=f"{three_quarters.step:,}")
        return
    variant = VARIANTS[shown.variant]
    page.explain(storyteller=False, title=variant.title, description=variant.description)


def _predict(page: LessonPage, shown: ShownTraining) -> None:
    """Ask how long it takes to learn."""
    training = shown.training
    if shown.is_storyteller:
        quarter, three_quarters = values.quarters(training)
        correct = three_quarters.step - quarter.step
        options = {correct, *(training.steps[-1] // part for part in (8, 4, 2))}
        measured = [(each.step, each.measures["right"]) for each in (quarter, three_quarters)]
    else:
        good = values.first_good(training)
        rest = [step for step in training.steps if step != good.step]
        correct, options = good.step, {good.step, *(rest[len(rest) * part // 8] for part in (1, 3, 5, 7))}
        measured = [(each.step, each.measures["pronoun"]) for each in (training.snapshots[0], good)]
    page.predict(
        of_sentence=False,
        storyteller=shown.is_storyteller,
        options=[f"{step:,}" for step in sorted(options)],
        correct=f"{correct:,}",
        measured=[(f"{step:,}", measure) for step, measure in measured],
        quarter=values.QUARTERS[0],
        three_quarters=values.QUARTERS[1],
        good=values.GOOD,
        batch=training.about.get("batch", ""),
    )


def _learned(page: LessonPage, shown: ShownTraining, step: int) -> None:
    """Draw the measures over the steps."""
    found, about = shown.training.snapshots, shown.training.about
    _progress(page, "learning", page.label("progress_title"), shown.variant, found, step, found[-1].step)
    rows = [
        {"name": page.label(of), "first": percent(found[0].value(of)), "last": percent(found[-1].value(of))}
        for of, *_ in values.curves(shown.variant)
    ]
    page.text(
        "progress",
        storyteller=shown.is_storyteller,
        rows=rows,
        held_out=about.get("held out", ""),
        pairs=about.get("minimal pairs", ""),
    )


def _progress(
    page: LessonPage,
    name: str,
    title: str,
    variant: str,
    found: Sequence[Snapshot],
    marked: int,
    steps: int,
) -> None:
    """Draw the measures over the steps, with a line at `marked`."""
    curves: list[Curve] = [
        (page.label(of), of, dash, marker, colour) for of, dash, marker, colour in values.curves(variant)
    ]
    last = found[-1]
    measures = "; ".join(f"{label} {percent(last.value(of))}" for label, of, *_ in curves)
    over_steps(
        f"{name} progress",
        found,
        *curves,
        title=title,
        up=page.label("progress_storyteller" if variant in SIZES else "progress_translator"),
        percents_until=steps,
        marked=marked,
        alt=page.label("progress_alt", step=last.step, measures=measures),
    )


def _live(page: LessonPage, shown: ShownTraining) -> None:
    """Draw a training of the chosen model from another seed, watched on the same text and head."""

    def choose() -> Training:
        seed, steps = st.columns([2, 4], gap="medium", vertical_alignment="bottom")
        with seed:
            number = LIVE_SEED.draw(page.label("seed"))
        with steps:
            count = LIVE_STEPS.slide(page.label("steps"), STEPS, STEPS[-1])
        return Training(shown.variant, number, count)

    def show(latest: Progress[Learned]) -> None:
        variant, found = latest.found.training.variant, latest.found.snapshots
        last, translates = found[-1], variant not in SIZES
        number = shown.number if translates else 0
        keeps = variant == shown.variant and translates and shown.head in values.heads_of(last)
        head = shown.head if keeps else values.first_head(last)
        left, right = st.columns([7, 5], gap="large")
        with left, st.container(border=True):
            if translates:
                _now(page, number, last)
            st.subheader(page.label("live_heading", head=head.name, step=f"{last.step:,}"), anchor=False)
            values.weights("live", variant, head, number, last, LINES if translates else MATRIX)
        with right:
            _progress(page, "live", page.label("live_title"), variant, found, last.step, latest.total)

    train_live(choose, {variant: title for title, variant in LEARNERS.items()}, show)
