"""Activation patching: each head's output for one sentence, patched into the run on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.analysis.sentence import name_of
from attnviz.analysis.table import Cell, facts_text
from attnviz.app import controls, markdown, traces
from attnviz.app.components.token_bars import token_bars
from attnviz.app.examples import examples_of
from attnviz.app.heads.intervene import ranking, words
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.written import angle
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.references import cited_markdown
from attnviz.app.saving import file_name_of, save_file, with_sentence
from attnviz.app.server.cache import cached
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state import memory
from attnviz.app.state.choices import PATCHED_INTO, PATCHED_WITH, TEXT
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.experiments import pairs
from attnviz.experiments.patching import Patching, patch, refuse_unaligned, with_target
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.text import decimal, percent, signed_share
from attnviz.trace import Trace

INTO_SECOND, INTO_FIRST = "From the first into the second", "From the second into the first"

_SHOWN = 10
_MAX_BARS = 24  # of a long text, the rows that carry most
_BEGAN = "the second sentence that this page began with"
_PAIR = "a pair for patching"


@dataclass(frozen=True)
class _Patch:
    """What is patched where, the names of both sentences, and the place of the outcome: "after `car`"."""

    clean: ModelInput
    corrupted: str
    sides: tuple[str, str]
    place: int
    where: str


def draw(chosen: Intervention, place: int | None) -> None:
    """Draw the choice of a second sentence, and what every head carries, or what is missing.

    Args:
        chosen: the model, the first sentence and the open head.
        place: where the model predicts; None: the output of the chosen token is measured.
    """
    cited_markdown(
        "The model reads two similar sentences. It then reads one of them again, with **one head’s output** "
        "at every token replaced by that for the other sentence (activation patching: Vig et al. 2020; "
        "Heimersheim & Nanda 2024). How much of the difference does this head carry? "
        "The changes chosen above are not made here."
    )
    other = _second_sentence(chosen)
    into = PATCHED_INTO.segments("Put", (INTO_SECOND, INTO_FIRST))
    st.markdown(
        ":small[From the first into the second: how much of the first outcome one head alone restores. From "
        "the second into the first: how much of it is lost without the head.]"
    )
    try:
        asked = _asked(chosen, other, place, swap=into == INTO_FIRST)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/edit:")
        if other != chosen.given.text:
            st.button(
                "Copy the first sentence, to change a word in it",
                on_click=PATCHED_WITH.set,
                args=(chosen.given.text,),
                icon=":material/content_copy:",
            )
        return
    job = _job(chosen, asked)
    heads, rows = st.columns([7, 5], gap="medium")
    with heads:
        show_job(
            job,
            counted("Patching every head", "heads"),
            lambda progress: _heads(chosen, asked, progress),
            starts=False,
            button="Patch every head",
            key="patching",
        )
    if job.latest is not None:
        with rows:
            show_job(
                _job(chosen, asked, Edit(chosen.kind, chosen.layer, chosen.head)),
                counted(f"Patching head {chosen.name} token by token", "tokens"),
                lambda progress: _rows(chosen, progress),
                key="patched rows",
            )


@cached()
def pairs_for(model: Entry) -> dict[str, tuple[str, str]]:
    """The pairs of sentences that the model reads with equally many tokens: its examples, and ours."""
    offered = {(each.text, each.other): each.name for each in examples_of(model, together=False)}
    for pair in pairs.bundled():
        one, two = pair.readings
        offered.setdefault((one.text, two.text), f"{one.text} / {two.word(two.deciding)}")
    return {name: texts for texts, name in offered.items() if _equally_long(model, texts)}


def _equally_long(model: Entry, texts: Sequence[str]) -> bool:
    try:
        first, second = (loading.tokens(model.name, text) for text in texts)
    except AttnvizError:
        return False
    return len(first) == len(second)


def _second_sentence(chosen: Intervention) -> str:
    """Draw the choice among the pairs, and the box; return its text."""
    offered, text = pairs_for(chosen.entry), chosen.given.text
    partners = dict(offered.values())
    opening = ({second: first for first, second in partners.items()} | partners).get(text, text)
    if PATCHED_WITH.get(opening) == memory.get(_BEGAN) != opening:
        PATCHED_WITH.set(opening)  # it was not chosen by the visitor
    memory.put(_BEGAN, opening)
    left, right = st.columns(2)
    with left:
        other = controls.sentence("Second sentence", opening, PATCHED_WITH)
    memory.put(_PAIR, next((name for name, texts in offered.items() if texts == (text, other)), None))
    with right:
        st.selectbox(
            f"… or one of {len(offered)} pairs with equally many tokens",
            list(offered),
            index=None,
            key=_PAIR,
            placeholder="Choose two sentences",
            on_change=_open_pair,
            args=(offered,),
        )
    return other


def _open_pair(offered: dict[str, tuple[str, str]]) -> None:
    name = memory.get(_PAIR)
    if name is not None:
        text, other = offered[name]
        TEXT.set(text)
        PATCHED_WITH.set(other)


def _asked(chosen: Intervention, other: str, place: int | None, *, swap: bool) -> _Patch:
    """What is to be patched.

    Raises:
        AttnvizError: the second sentence cannot be read, or the two cannot be compared.
    """
    model, given = chosen.entry, chosen.given
    written = traces.trace(model, given)
    first = with_target(given, written)
    second = replace(first, text=other)
    if _ids(traces.trace(model, first)) != _ids(written):
        raise AttnvizError(
            "The generated text for the first sentence has other tokens when it is read again, so it cannot "
            "be patched. Choose another sentence."
        )
    at = chosen.query if place is None else place
    refuse_unaligned(traces.trace(model, first), traces.trace(model, second), at)
    where = chosen.token if place is None else words.where(chosen, place)
    if swap:
        return _Patch(second, first.text, ("The second sentence", "the first"), at, where)
    return _Patch(first, second.text, ("The first sentence", "the second"), at, where)


def _ids(trace: Trace) -> list[int]:
    """The tokens of the outcome: the decoder's, where there is one."""
    return [token.id for token in trace.blocks[-1].query_tokens]


def _job(chosen: Intervention, asked: _Patch, rows_of: Edit | None = None) -> Job[Patching]:
    name, (clean, corrupted, place) = chosen.entry.name, (asked.clean, asked.corrupted, asked.place)
    key = ("patching", chosen.entry, clean, corrupted, place, rows_of)
    return JOBS.find(key, lambda: patch(name, clean, corrupted, place, rows_of))


def _heads(chosen: Intervention, asked: _Patch, progress: Progress[Patching]) -> None:
    found = progress.found
    order = np.argsort(-np.abs(found.shares), kind="stable")
    names = [ranking.called(chosen, edit) for edit in found.patched]
    most = ", ".join(f"{names[at]} **{signed_share(found.shares[at])}**" for at in order[:3])
    so_far = "" if progress.finished else ", as far as they were tried"
    st.markdown(f"{_outcome(asked, found)} Heads that carry most{so_far}: {most}.")
    if found.together is not None:
        st.markdown(
            f":small[All shares added are {signed_share(found.shares.sum())}. They need not be 100 %: heads "
            "build on each other, and two can carry the same. A negative share moves the outcome away. The "
            f"outputs of all heads, patched at once, carry {signed_share(found.together)}.]"
        )
    furthest = float(np.abs(found.shares).max()) or 1.0
    ranking.draw_map(
        "patching map",
        chosen,
        found.patched,
        found.shares,
        title="share of the difference that the head carries",
        texts=[signed_share(share) for share in found.shares],
        printed=[decimal(100 * share, 0) for share in found.shares],
        low=(-furthest, signed_share(-furthest)),
        high=(furthest, signed_share(furthest)),
        kind="diverging",
    )
    listed = {f"{names[at]} · {signed_share(found.shares[at])}": found.patched[at] for at in order[:_SHOWN]}
    controls.buttons("The strongest", listed, "patched most", ranking.open_edit)
    model = lookup.called(chosen.entry)
    save_file(
        "Save as CSV",
        lambda: csv_of(model, asked.clean, asked.corrupted, asked.place, found),
        f"{with_sentence(f'{file_name_of(model)}-patching')}.csv",
        icon=":material/download:",
    )


def csv_of(model: str, clean: ModelInput, corrupted: str, place: int, found: Patching) -> str:
    """Every head's share, and in each row of what it is one."""
    of = "1 − cosine of the token’s two outputs"
    if found.expected is not None:
        one, other = (f"“{visible_text(token.text)}”" for token in found.expected)
        of = f"the log odds of {one} against {other} in nats"
    facts: dict[str, Cell] = {
        "model": visible_text(model),
        "outputs of": visible_text(clean.text),
        "put into the run over": visible_text(corrupted),
        "second text": visible_text(clean.target or ""),
        "chosen token": place + 1,
        "difference of": of,
        "whole difference": float(f"{found.whole:.9g}"),
    }
    lines = (
        (edit.kind, edit.layer + 1, edit.head + 1, float(f"{share:.9g}"))
        for edit, share in zip(found.patched, found.shares, strict=True)
    )
    return facts_text(facts, ("attention", "layer", "head", "share"), lines)


def _outcome(asked: _Patch, found: Patching) -> str:
    """What the two sentences lead to, and of what the shares are shares; in Markdown."""
    if found.expected is None:
        return (
            f"The output of {asked.where} after the last layer changes by **{angle(found.whole)}** between "
            "the two sentences. A head’s share is the part of that difference (1 − cosine) that patching its "
            "output removes."
        )
    one, other = found.expected
    return (
        f"{asked.sides[0]} makes {markdown.code(one.text)} more likely {asked.where} "
        f"({percent(one.clean, 1)} against {percent(one.corrupted, 1)}), {asked.sides[1]} "
        f"{markdown.code(other.text)} ({percent(other.corrupted, 1)} against {percent(other.clean, 1)}); "
        "no other token’s probability differs more in the same direction. A head’s share is the part of the "
        "difference of their log odds that its output restores."
    )


def _rows(chosen: Intervention, progress: Progress[Patching]) -> None:
    shares = progress.found.shares
    furthest = float(np.abs(shares).max()) or 1.0
    most = int(np.abs(shares).argmax())
    st.markdown(
        f"And if the output of head {chosen.name} is taken over **at one token alone**, the largest share, "
        f"up or down, is that of {markdown.token(most, chosen.queries)}: **{signed_share(shares[most])}**."
    )
    shown = sorted(np.argsort(-np.abs(shares), kind="stable")[:_MAX_BARS].tolist())
    some = f"; the {len(shown)} of {len(shares)} that carry most" if len(shown) < len(shares) else ""
    token_bars(
        "patched at",
        title=f"share carried at each token{some}; bars show the size, without the sign",
        bars=[
            {
                "number": chosen.queries[at].number,
                "label": chosen.queries[at].label,
                "size": float(abs(shares[at]) / furthest),
                "written": signed_share(shares[at]),
                "hint": f"head {chosen.name} at {name_of(at, chosen.queries)}: {signed_share(shares[at])}",
                "marked": at == chosen.query,
            }
            for at in shown
        ],
    )
