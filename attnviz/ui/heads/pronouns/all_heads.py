"""All heads of the model, coloured by how often each resolves the pronoun, and ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE, expected_best, wilson
from attnviz.commands import pronouns as command
from attnviz.commands.columns import csv_text
from attnviz.heads import pronouns
from attnviz.heads.progress import Progress
from attnviz.heads.pronouns import Baseline, Looks, Scores, Verdicts
from attnviz.ui import markdown
from attnviz.ui.components.curves import Axis, Line, curves
from attnviz.ui.components.head_map import head_map
from attnviz.ui.heads import choosing
from attnviz.ui.heads.pronouns import headline
from attnviz.ui.heads.pronouns.choices import Chosen
from attnviz.ui.heads.pronouns.figures import at_most, fine, interval, name_of, share, whom

_COIN = 1 / 4  # of the pairs, a coin for each sentence is right in both
_MOST_LISTED = 8
_MOST_NAMED = 30  # sentences that were left out


def introduce() -> None:
    """Say what is asked of every head, and what it is compared with."""
    st.markdown(
        "*The dog did not cross the road as it was too **tired** / **narrow**.* One word decides who *it* "
        "is. A head **resolves** such a pair if, in both sentences, the noun that is meant gets more weight "
        "than the other one: it changes sides. The nearer noun is right in exactly one sentence of each "
        "pair, so whoever always takes it is right in half of the sentences and in **no** pair."
    )


def draw(chosen: Chosen, progress: Progress[Verdicts], looks: Looks, *, still: bool) -> None:
    """Draw the map of all heads and the best of them.

    Args:
        chosen: the open head is marked.
        progress: what was found so far.
        looks: whose weights are read.
        still: whether nothing is being computed, so that heads can be picked.
    """
    found = progress.found
    if not found.pairs:
        return
    scores = found.scores(looks)
    nearest, _, coin = pronouns.baselines(found.pairs)
    for paragraph in headline.paragraphs(scores, looks, nearest, coin, finished=progress.finished):
        st.markdown(paragraph)
    others = [each for each in headline.best(scores) if still and each != (chosen.layer, chosen.head)]
    if others:
        with st.container(horizontal=True):
            for each in others:
                st.button(f"Open head {name_of(each)}", on_click=choosing.open_head, args=each)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        _map(chosen, scores, looks, still)
    with right:
        _chart(chosen, scores, nearest, coin)


def left_out(found: Verdicts) -> None:
    """Say which sentences the model could not read, and why."""
    if not found.unread:
        return
    pairs = len(found.unread) // 2
    with st.expander(f"{pairs} pair{'s' * (pairs > 1)} left out, {len(found.pairs)} read"):
        lines = [f"- {markdown.code(each.text)} {markdown.plain(each.why)}" for each in found.unread]
        st.markdown("\n".join(lines[:_MOST_NAMED]))
        if len(lines) > _MOST_NAMED:
            st.markdown(f"… and {len(lines) - _MOST_NAMED} more sentences.")


def _map(chosen: Chosen, scores: Scores, looks: Looks, still: bool) -> None:
    total = scores.total
    best = int(scores.pairs.max()) / total
    head_map(
        "pronoun map",
        title="Pairs resolved, on one scale for all heads",
        values=(scores.pairs / total).astype(np.float32),
        texts=[
            f"{pairs} of {total} pairs resolved ({share(pairs, total)}), {fine(given)} of its weight on "
            f"{whom(looks)}"
            for pairs, given in zip(scores.pairs.ravel().tolist(), scores.given.ravel(), strict=True)
        ],
        low=(0.0, "0 %"),
        high=(best or 1.0, share(best or 1.0, 1)),
        printed=[f"{100 * pairs / total:.0f}" for pairs in scores.pairs.ravel()],
        selected=(chosen.layer + 1, chosen.head + 1),
        on_pick=(lambda layer, head: choosing.open_head(layer - 1, head - 1)) if still else None,
    )


def _chart(chosen: Chosen, scores: Scores, nearest: Baseline, coin: Baseline) -> None:
    ranking, total = scores.ranking, scores.total
    pairs = [int(scores.pairs[each]) for each in ranking]
    bounds = np.array([wilson(right, total) for right in pairs])
    places = np.arange(1, len(ranking) + 1)
    names = [name_of(each) for each in ranking]
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
                names=names,
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
        title="All heads by the share of pairs that they resolve",
        across=Axis("heads, best first"),
        up=Axis(f"pairs resolved, % (bars: {100 * CONFIDENCE:g} % interval)", zero=True),
        at="head {x}",
        digits=1,
        marked=open_at,
        alt=(
            f"{len(ranking)} heads from the best, {names[0]} with {share(pairs[0], total)}, to the last with "
            f"{share(pairs[-1], total)}. Head {chosen.name} is number {open_at}."
        ),
        filename=f"pronouns-{_filename_of(chosen)}",
    )
    st.markdown(f":small[The larger point: head {chosen.name}, number {open_at} of {len(ranking)}.]")


def table(chosen: Chosen, found: Verdicts, looks: Looks) -> None:
    """Draw the best heads as a table, all of them on demand, and a way to save them."""
    scores, baselines = found.scores(looks), pronouns.baselines(found.pairs)
    rows = scores.ranking
    st.markdown(_lines(scores, looks, rows[:_MOST_LISTED], baselines))
    with st.expander(f"All {len(rows)} heads"):
        st.markdown(_lines(scores, looks, rows, baselines))
        st.download_button(
            "Save all figures (CSV)",
            csv_text(command.HEADER, command.rows(scores)),
            f"attnviz-pronouns-{_filename_of(chosen)}.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )


def _filename_of(chosen: Chosen) -> str:
    """The model's name as a part of a file's."""
    return re.sub(r"[^\w.-]+", "-", chosen.entry.name).strip("-")


def _lines(
    scores: Scores, looks: Looks, heads: Sequence[tuple[int, int]], baselines: Sequence[Baseline]
) -> str:
    total = scores.total
    lines = [f"| Head | Pairs resolved | Sentences right | Weight on {whom(looks)} |", "|---|---|---|---|"]
    for each in heads:
        pairs, sentences = int(scores.pairs[each]), int(scores.sentences[each])
        lines.append(
            f"| {name_of(each)} | **{share(pairs, total)}** ({interval(pairs, total)}) "
            f"| {share(sentences, 2 * total)} ({interval(sentences, 2 * total)}) "
            f"| {fine(float(scores.given[each]))} |"
        )
    lines += [
        f"| *{each.name}* | {share(each.pairs, 1)} | {share(each.sentences, 1)} | – |" for each in baselines
    ]
    return "\n".join(lines)


def by_chance(scores: Scores, looks: Looks) -> None:
    """Say what the best head owes to being the best of many."""
    heads = scores.pairs.size
    coins = expected_best([scores.total] * heads, _COIN)
    best = scores.ranking[0]
    luck = at_most(scores.by_chance(*best))
    with st.expander("Is the best head only lucky?"):
        st.markdown(
            f"The best of {heads} is best partly by luck. If {heads} people tossed a coin for each sentence, "
            f"the luckiest would resolve {share(coins, scores.total)} of these pairs on average. But heads "
            "are no coins: most prefer the same noun in both sentences, and resolve almost nothing.\n\n"
            "So ask of the pairs in which a head changes sides: how often is that the right way? Blindly, it "
            "would be half. If every head here changed sides as often as it does, but blindly, the best "
            f"would resolve {scores.best_by_chance:.1f} pairs on average. Head {name_of(best)} "
            f"resolves {scores.pairs[best]}, and turns the wrong way in {scores.wrong[best]}: the "
            f"probability that any of {heads} blind heads does so well is {luck} "
            "(exact sign test, Bonferroni’s correction).\n\n"
            "Intervals are Wilson’s (1927), each of one head; they know nothing of its being the best. "
            "For single sentences they take all sentences as independent, which the two of a pair are not."
            f"\n\n**Weight on {whom(looks)}**: how much of its weight the head gives {whom(looks)}, on "
            "average. A head may prefer the right one of two nouns that it hardly looks at."
        )
