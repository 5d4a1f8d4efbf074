"""The lesson "Training": stored snapshots of a training run, and a live run on the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.curves import Axis, Colour, Dash, Line, Marker, curves
from attnviz.app.job_view import show_job
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.training import Training, TrainingState, train
from attnviz.app.lessons.watch_it_learn import values
from attnviz.app.lessons.watch_it_learn.values import LINES, MATRIX, Head
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state import memory
from attnviz.app.state.choices import (
    LEARNER,
    LEARNING_VIEW,
    LIVE_SEED,
    LIVE_STEPS,
    PROBE,
    TRAINING_STEP,
    WATCHED_HEAD,
)
from attnviz.app.weights_picture import weights_picture
from attnviz.experiments.progress import Progress
from attnviz.text import decimal, percent
from attnviz.trained import snapshots
from attnviz.trained.snapshots import STORED, Snapshot, Stored
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator.grammar import format_sentence
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.variants import VARIANTS

STEPS = (100, 300, 600, 1000, 1400, 2000)
_CODE = ("attnviz.trained.training", "train")
_LOSS_OF_TRANSLATOR = ("attnviz.trained.translator.losses", "translation_loss", "attention_loss")
_LOSS_OF_STORYTELLER = ("attnviz.trained.storyteller.training", "_loss")

_KEY = "live training"
_OWN_JOB = "training run of this visitor"
_Curve = tuple[str, str, Dash, Marker, Colour]
"""Label, name and line style of a measure."""


def title_of(variant: str) -> str:
    """Return a model's title, such as "Translator: guided attention" or "Language model with 2 layers"."""
    if variant in SIZES:
        return f"Language model with {SIZES[variant].layers} layers"
    title = VARIANTS[variant].title
    return f"Translator: {title[0].lower()}{title[1:]}"


LEARNERS = {title_of(variant): variant for variant in STORED}


@dataclass(frozen=True, eq=False)
class ShownTraining:
    """A training run, the index of the shown text, and the shown head."""

    variant: str
    training: Stored
    number: int
    head: Head

    @property
    def is_storyteller(self) -> bool:
        """True if the model is a language model, not a translator."""
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
            page.section("progress", _measures, shown, step),
            page.text_section(
                "step",
                attention_loss=[
                    {"weight": weight, "where": page.label(f"loss_{name}", head=head.name)}
                    for weight, name, head in values.attention_loss(shown.variant)
                ],
            ),
            page.section("live", _live, shown).with_choices(LIVE_SEED, LIVE_STEPS),
            code=(_CODE, _LOSS_OF_STORYTELLER if shown.is_storyteller else _LOSS_OF_TRANSLATOR),
        )


def _choose(page: LessonPage) -> ShownTraining:
    """Draw the controls for the training run, the sentence and the head."""
    learner, text, shown = st.columns([9, 12, 4])
    with learner:
        variant = LEARNERS[LEARNER.select(page.label("model"), list(LEARNERS), help=_descriptions())]
    training = snapshots.stored(variant)
    number = 0
    if variant in SIZES:
        PROBE.keep()
    else:
        sentences = [format_sentence(probe.source) for probe in PROBES]
        with text:
            number = sentences.index(PROBE.select(page.label("sentence"), sentences))
    heads = {head.name: head for head in values.heads_of(training.snapshots[-1])}
    with shown if variant not in SIZES else text:
        first = values.first_head(variant, training.snapshots[-1]).name
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
    selected = TRAINING_STEP.get(steps[-1])
    if selected not in steps:  # such as a step of another training run
        TRAINING_STEP.set(min(steps, key=lambda step: abs(step - selected)))
    step = TRAINING_STEP.slide(page.label("step"), steps, steps[-1])
    snapshot = shown.training.snapshots[steps.index(step)]
    _loss(page, shown, step)
    views = (MATRIX, LINES) if shown.is_storyteller else (LINES, MATRIX)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(
            page.label("heading", head=shown.head.name, step=f"{step:,}"), anchor=False, width="content"
        )
        with st.container(width="content"):
            view = LEARNING_VIEW.segments(page.label("view"), views)
    _weights(page, "learning", shown, snapshot, view)
    if not shown.is_storyteller:
        _translation(page, shown.number, snapshot)
    return step


def _weights(page: LessonPage, name: str, shown: ShownTraining, snapshot: Snapshot, view: str) -> None:
    """Draw the weights of the shown head in a snapshot, as `view`: LINES or MATRIX."""
    head, step = shown.head, f"{snapshot.step:,}"
    queries, keys, row = values.rows_and_columns(shown.variant, head.kind, shown.number)
    heading = page.label("heading", head=head.name, step=step)
    text = values.text_of(shown.variant, shown.number)
    weights_picture(
        f"{name} weights",
        snapshot.texts[shown.number].shares(head.kind)[head.layer, head.head][None],
        queries,
        keys,
        view="matrix" if view == MATRIX else "lines",
        query=row,
        layer=head.layer + 1,
        heads=[head.head + 1],
        heading=heading,
        note=page.label("rounded"),
        caption=page.label("caption", text=text, heading=heading),
        filename=f"attnviz-{name}-step{snapshot.step}",
    )


def _translation(page: LessonPage, number: int, snapshot: Snapshot) -> None:
    """Draw a snapshot's translation, and the probabilities of “il” and “elle”."""
    text_snapshot = snapshot.texts[number]
    page.text(
        "now",
        french=values.translation(text_snapshot),
        right=text_snapshot.translation == PROBES[number].target,
        il=text_snapshot.il / 1000,
        elle=text_snapshot.elle / 1000,
    )


def _loss(page: LessonPage, shown: ShownTraining, step: int) -> None:
    found = shown.training.snapshots
    drawn: tuple[_Curve, ...] = ((page.label("loss"), "loss", "solid", "circle", "text"),)
    if shown.is_storyteller:
        drawn = (
            (page.label("first"), "first_loss", "dash", "square", "muted"),
            (page.label("again"), "second_loss", "solid", "circle", "text"),
        )
    losses = "; ".join(f"{label} {decimal(found[-1].value(measure), 3)}" for label, measure, *_ in drawn)
    _curves(
        page,
        "learning loss",
        [_line(curve, found) for curve in drawn],
        title=page.label("loss_storyteller" if shown.is_storyteller else "loss_translator"),
        y_axis=Axis(page.label("loss_axis"), zero=True, digits=3),
        height=150 if shown.is_storyteller else 90,  # with a legend or without
        alt=page.label("alt", step=found[-1].step, measures=losses),
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
    """Draw the question about the number of training steps."""
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
        good=values.GOOD_ACCURACY,
        batch=training.about.get("batch", ""),
    )


def _measures(page: LessonPage, shown: ShownTraining, step: int) -> None:
    """Draw the section with the curves and the table of the measures."""
    found, about = shown.training.snapshots, shown.training.about
    _progress(page, "learning", page.label("progress_title"), shown.variant, found, step, found[-1].step)
    rows = [
        {"name": name, "first": percent(found[0].value(measure)), "last": percent(found[-1].value(measure))}
        for measure, name in _names(page, shown.variant).items()
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
    """Draw the measures against the step, with a line at `marked`."""
    last = found[-1]
    labels = _names(page, variant)
    lines = [
        _line((labels[measure], measure, dash, marker, colour), found, times=100)
        for measure, dash, marker, colour in values.curves(variant)
    ]
    lines.append(Line("", (0, steps), (0, 100), dash=None))  # extends the axes to all steps
    measures = "; ".join(f"{label} {percent(last.value(measure))}" for measure, label in labels.items())
    _curves(
        page,
        f"{name} progress",
        lines,
        title=title,
        y_axis=Axis(page.label("progress_axis"), zero=True, digits=1),
        height=180,
        marked=marked,
        alt=page.label("alt", step=last.step, measures=measures),
    )


def _names(page: LessonPage, variant: str) -> dict[str, str]:
    """Return the labels of the measures that are drawn for a model, by name."""
    guided = values.is_guided(variant)
    return {name: page.label(name, guided=guided) for name, *_ in values.curves(variant)}


def _line(curve: _Curve, found: Sequence[Snapshot], times: int = 1) -> Line:
    """Return a measure, multiplied by `times`, as a line against the step."""
    label, measure, dash, marker, colour = curve
    at = [snapshot.step for snapshot in found]
    return Line(
        label, at, [times * each.value(measure) for each in found], dash=dash, marker=marker, colour=colour
    )


def _curves(page: LessonPage, name: str, lines: Sequence[Line], **look: Any) -> None:
    """Draw curves against the step; `look` is passed to `curves`."""
    curves(name, lines, x_axis=Axis(page.label("steps_axis"), at=page.label("at_step")), **look)


def _live(page: LessonPage, shown: ShownTraining) -> None:
    """Draw the section that trains the chosen model on this server, with a seed of the visitor's choice."""

    def choose() -> Training:
        seed, steps = st.columns([2, 4], gap="medium", vertical_alignment="bottom")
        with seed:
            number = LIVE_SEED.draw(page.label("seed"))
        with steps:
            count = LIVE_STEPS.slide(page.label("steps"), STEPS, STEPS[-1])
        return Training(shown.variant, number, count)

    def show(latest: Progress[TrainingState]) -> None:
        variant, found = latest.found.training.variant, latest.found.snapshots
        last, is_translator = found[-1], variant not in SIZES
        has_head = variant == shown.variant and is_translator and shown.head in values.heads_of(last)
        live = replace(
            shown,
            variant=variant,
            number=shown.number if is_translator else 0,
            head=shown.head if has_head else values.first_head(variant, last),
        )
        left, right = st.columns([7, 5], gap="large")
        with left, st.container(border=True):
            if is_translator:
                _translation(page, live.number, last)
            st.subheader(page.label("heading", head=live.head.name, step=f"{last.step:,}"), anchor=False)
            _weights(page, "live", live, last, LINES if is_translator else MATRIX)
        with right:
            _progress(page, "live", page.label("live_title"), variant, found, last.step, latest.total)

    page.text("start")
    _train(page, choose(), show)


def _train(page: LessonPage, settings: Training, show: Callable[[Progress[TrainingState]], None]) -> None:
    """Draw the start button and the run on this server; only the visitor who started the run can stop it."""
    own_job: Job[TrainingState] | None = memory.get(_OWN_JOB, None)
    running = JOBS.running(_KEY)
    if running is None:
        label = page.label("train_again" if own_job else "train")
        st.button(label, icon=":material/play_arrow:", on_click=_start, args=(settings,))
    elif running is not own_job:
        st.info(page.document.render("others"), icon=":material/groups:")
    if job := running or own_job:
        show_job(
            job,
            partial(_status, page),
            lambda latest: show(latest) if latest.found.snapshots else None,
            key=_KEY,
            starts=False,
            button="",
            may_stop=job is own_job,
        )


def _start(settings: Training) -> None:
    job = JOBS.find(_KEY, partial(train, settings), replace=True)
    job.start()
    memory.put(_OWN_JOB, job)


def _status(page: LessonPage, job: Job[TrainingState]) -> str:
    """Return the state of a training run as Markdown."""
    latest = job.latest
    if latest is None:
        return page.label("starting") if job.running else ""
    settings, seconds = latest.found.training, job.seconds
    left = seconds / latest.done * (latest.total - latest.done) if job.running and latest.done else 0
    if job.running:
        state = "learning" if latest.done else "starting"
    else:
        state = "done" if job.finished else "stopped"
    return page.label(
        "status",
        state=page.label(state),
        title=title_of(settings.variant),
        seed=settings.seed,
        step=f"{latest.done:,}",
        steps=f"{latest.total:,}",
        seconds=round(seconds),
        left=round(left),
    )
