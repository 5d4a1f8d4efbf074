"""All heads of the model, coloured by how often each resolves the pronoun, and ranked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE, expected_best, wilson
from attnviz.analysis.table import csv_text
from attnviz.app import controls, markdown
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns import headline
from attnviz.app.heads.pronouns.figures import at_most, few, fine, names, of_few, rate, share, short, whom
from attnviz.app.heads.pronouns.headline import HARDLY, Best, alike, best
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, save_file
from attnviz.experiments import coreference
from attnviz.experiments.coreference import Baseline, Looks, Scores, Verdicts
from attnviz.experiments.progress import Progress
from attnviz.text import head_name, plural

_COIN = 1 / 4  # of the pairs, a coin for each sentence is right in both
_MOST_LISTED = 8
_MOST_OPENED = 4  # buttons
_SENTENCES = "Sen\N{SOFT HYPHEN}tences"  # may be broken: four columns are to fit on a phone
_MOST_NAMED = 30  # sentences that were left out


_ASKED = (
    "*The dog did not cross the road as it was too **tired** / **narrow**.* One word decides who *it* is. A "
    "head **resolves** such a pair if, in both sentences, there is more weight between the pronoun and the "
    "noun that is meant than between the pronoun and the other one."
)


def draw(chosen: HeadSelection, progress: Progress[Verdicts], looks: Looks, *, still: bool) -> None:
    """Draw the map of all heads, and beside it what is asked of them and which is the best.

    Only while it is `still`, nothing being computed, can heads be picked, and is the best one told.
    """
    found = progress.found
    left, right = st.columns([7, 5], gap="large")
    with right:
        if still:
            for paragraph in headline.read(found, finished=progress.finished):
                st.markdown(paragraph)
            _left_out(found)
        st.markdown(_ASKED)
        if still and found.pairs:
            _finding(chosen, found, looks, finished=progress.finished)
    if found.pairs:
        with left:
            _map(chosen, found.scores(looks), looks, still)


def _finding(chosen: HeadSelection, found: Verdicts, looks: Looks, *, finished: bool) -> None:
    """Say which head is the best and what the open one does; offer to open those that are named."""
    scores = found.scores(looks)
    nearest, *_ = coreference.baselines(found.pairs)
    st.markdown(headline.claim(scores, looks, nearest, finished=finished))
    first, here = best(scores), (chosen.layer, chosen.head)
    if here not in first.heads:
        resolved = f"{scores.pairs[here]} of {plural(scores.total, 'pair')}"
        st.markdown(f"The open head, {chosen.name}, resolves {resolved}.")
    named = [each for each in (*first.heads, *first.others) if each != here]
    with st.container(horizontal=True):
        for each in named[:_MOST_OPENED]:
            st.button(f"Open head {head_name(*each)}", on_click=controls.open_head, args=each)


def how_sure(_chosen: HeadSelection, found: Verdicts, looks: Looks, finished: bool) -> None:
    """Say how sure it is that the best head is the best."""
    scores = found.scores(looks)
    nearest, _, coin = coreference.baselines(found.pairs)
    for paragraph in headline.paragraphs(scores, looks, nearest, coin, finished=finished):
        st.markdown(paragraph)
    st.markdown(
        "The nearer noun is right in exactly one sentence of each of our pairs, so whoever always takes it "
        "resolves **none**."
    )
    _by_chance(scores, looks)


def ranked(chosen: HeadSelection, found: Verdicts, looks: Looks) -> None:
    """Draw all heads in order, as a picture and as a table."""
    nearest, _, coin = coreference.baselines(found.pairs)
    _chart(chosen, found.scores(looks), nearest, coin)
    _table(chosen, found, looks)


def _left_out(found: Verdicts) -> None:
    """Say which sentences the model could not read, and why."""
    if not found.unread:
        return
    with st.expander(f"{plural(len(found.unread) // 2, 'pair')} left out, {len(found.pairs)} read"):
        lines = [f"- {markdown.code(each.text)} {markdown.plain(each.why)}" for each in found.unread]
        st.markdown("\n".join(lines[:_MOST_NAMED]))
        if len(lines) > _MOST_NAMED:
            st.markdown(f"… and {len(lines) - _MOST_NAMED} more sentences.")


def _map(chosen: HeadSelection, scores: Scores, looks: Looks, still: bool) -> None:
    total = scores.total
    most = int(scores.pairs.max()) / total or 1.0
    head_map(
        "pronoun map",
        title=f"Pairs resolved{of_few(total)}; one scale for all heads",
        values=(scores.pairs / total).astype(np.float32),
        texts=[
            f"{pairs} of {plural(total, 'pair')} resolved"
            f"{'' if few(total) else f' ({share(pairs, total)})'}, {fine(given)} of its weight on "
            f"{whom(looks)}"
            for pairs, given in zip(scores.pairs.ravel().tolist(), scores.given.ravel(), strict=True)
        ],
        low=(0.0, short(0, total)),
        high=(most, short(most * total, total)),
        printed=[
            str(pairs) if few(total) else f"{100 * pairs / total:.0f}" for pairs in scores.pairs.ravel()
        ],
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head if still else None,
    )


def _chart(chosen: HeadSelection, scores: Scores, nearest: Baseline, coin: Baseline) -> None:
    ranking, total = scores.ranking, scores.total
    pairs = [int(scores.pairs[each]) for each in ranking]
    bounds = np.array([wilson(right, total) for right in pairs])
    places = np.arange(1, len(ranking) + 1)
    called = [head_name(*each) for each in ranking]
    ends = [1, len(ranking)]
    open_at = ranking.index((chosen.layer, chosen.head)) + 1
    curves(
        "pronoun ranking",
        [
            Line(
                "pairs resolved, %",
                places,
                [100 * right / total for right in pairs],
                low=100 * bounds[:, 0],
                high=100 * bounds[:, 1],
                dash=None,
                marker="circle",
                names=called,
            ),
            Line(
                "a coin for each sentence",
                ends,
                [100 * coin.pairs] * 2,
                dash="dash",
                colour="muted",
                points=[],
            ),
            Line(
                "always the nearest noun",
                ends,
                [100 * nearest.pairs] * 2,
                dash="dashdot",
                colour="muted",
                points=[],
            ),
        ],
        title=f"All heads by the share of pairs that they resolve{of_few(total)}",
        across=Axis("heads, most pairs first", at="head {x}"),
        up=Axis(
            f"pairs resolved, %{of_few(total)} (bars: {100 * CONFIDENCE:g} % interval)", zero=True, digits=1
        ),
        marked=open_at,
        alt=(
            f"{len(ranking)} heads, from {called[0]}, which resolves {pairs[0]} of {plural(total, 'pair')}, "
            f"to the last, which resolves {pairs[-1]}. Head {chosen.name} is number {open_at}."
        ),
    )
    st.markdown(f":small[The larger point: head {chosen.name}, number {open_at} of {len(ranking)}.]")


def _table(chosen: HeadSelection, found: Verdicts, looks: Looks) -> None:
    """Draw those heads as a table that resolve most, all of them on demand, and a way to save them."""
    scores, baselines = found.scores(looks), coreference.baselines(found.pairs)
    rows = scores.ranking
    st.markdown(_lines(scores, looks, rows[:_MOST_LISTED], baselines))
    offered = {head_name(*each): each for each in rows[:_MOST_LISTED]}
    controls.buttons("Open", offered, "ranked heads", lambda at: controls.open_head(*at), chosen.name)
    unless = "" if (scores.given >= HARDLY).any() else ", unless all do"
    st.markdown(
        f":small[Most pairs first{_shown(len(found.pairs))}. A head with a weight of less than "
        f"{share(HARDLY, 1)} hardly looks there, and is not called the best{unless}.]"
    )
    with st.expander(f"All {len(rows)} heads"):
        st.markdown(_lines(scores, looks, rows))
        save_file(
            "Save all figures (CSV)",
            lambda: csv_text(coreference.COLUMNS, coreference.table_rows(scores)),
            f"{file_name_of(lookup.called(chosen.entry.name))}-pronouns.csv",
            icon=":material/download:",
        )


def _lines(
    scores: Scores, looks: Looks, heads: Sequence[tuple[int, int]], baselines: Sequence[Baseline] = ()
) -> str:
    total, first = scores.total, best(scores)
    lines = [
        f"| Head | Pairs resolved{of_few(total)} | {_SENTENCES} right | Weight on {whom(looks)} |",
        "|---|---|---|---|",
    ]
    for each in heads:
        # The sentences have no interval: the two of a pair are not independent, and a phone is narrow.
        sentences = int(scores.sentences[each])
        right = f"{sentences} of {2 * total}" if few(total) else share(sentences, 2 * total)
        pairs, given = rate(int(scores.pairs[each]), total), float(scores.given[each])
        bold = "**" if each in first.heads and not few(total) else ""
        lines.append(f"| {bold}{head_name(*each)}{bold} | {pairs} | {right} | {fine(given)} |")
    lines += [
        f"| *{each.name}* | {share(each.pairs, 1)} | {share(each.sentences, 1)} | – |" for each in baselines
    ]
    return "\n".join(lines)


def _shown(total: int) -> str:
    """What else the table shows of many pairs."""
    if few(total):
        return ""
    return f", in brackets the {100 * CONFIDENCE:g} % interval in percent; in bold letters, the best"


def _by_chance(scores: Scores, looks: Looks) -> None:
    """Say what the best heads owe to being the best of many."""
    heads, first = scores.pairs.size, best(scores)
    if not first.heads:
        return
    coins, turns = expected_best([scores.total] * heads, _COIN), np.median(scores.turns)
    caution = f"There are only {plural(scores.total, 'pair')} here.\n\n" if few(scores.total) else ""
    st.markdown(
        f"{caution}**Is the best head only lucky?** The best of {heads} is best partly by luck. If "
        f"{heads} people tossed a coin for each sentence, the luckiest would resolve {coins:.1f} of "
        f"{plural(scores.total, 'pair')} on average. A coin changes sides in half of the pairs, the median "
        f"head in {turns:g}.\n\n"
        "So ask of the pairs in which a head changes sides: how often is that the right way? Blindly, it "
        "would be half. If every head here changed sides as often as it does, but blindly, the best "
        f"would resolve {scores.best_by_chance:.1f} pairs on average. {_turning(scores, first)} "
        "(exact sign test, Bonferroni’s correction).\n\n"
        "Intervals are Wilson’s (1927), each of one head; they know nothing of its being the best. "
        "For single sentences they take all sentences as independent, which the two of a pair are not."
        f"\n\n**Weight on {whom(looks)}**: how much of its weight the head gives {whom(looks)}, on "
        "average. A head may prefer the right one of two nouns that it hardly looks at."
    )


def _turning(scores: Scores, first: Best) -> str:
    """How the best heads turn, and how probable it is that blind ones do so well."""
    return ". ".join(
        f"{names(each).capitalize()} {'each resolve' if len(each) > 1 else 'resolves'} "
        f"{scores.pairs[each[0]]}, and {'turn' if len(each) > 1 else 'turns'} the wrong way in "
        f"{scores.wrong[each[0]]}: if all turned blindly, the probability that any did so well would be "
        f"{at_most(scores.by_chance(*each[0]))}"
        for each in alike(scores, first.heads)
    )
