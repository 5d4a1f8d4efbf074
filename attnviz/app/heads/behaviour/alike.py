"""Which heads look at the same words: each a point of a plane, near those that do."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from attnviz.analysis.rules import Rule
from attnviz.analysis.tally import RULES
from attnviz.app.components.curves import Axis, Colour, Line, Marker, curves
from attnviz.app.heads.behaviour.choices import RuledHead, offer
from attnviz.app.heads.behaviour.findings import Findings
from attnviz.app.heads.behaviour.words import in_markdown
from attnviz.app.references import cited_markdown
from attnviz.text import percent, plural

LETTERS = "ABCDE"
_MARKS: tuple[tuple[Marker, Colour], ...] = (
    ("circle", "weights"),
    ("square", "feed-forward"),
    ("diamond", "text"),
    ("ring", "weights"),
    ("cross", "muted"),
)
_NOT_SAID = ("focused", "distance", "far away")  # these do not say at what
_NAMED = "Where heads are crowded, only those with room have their name beside them."
_SAID = 2  # rules for each group


def draw(findings: Findings, chosen: RuledHead) -> None:
    """Draw the plane with its groups, and behind a click how it is computed and how much it keeps."""
    alike, names = findings.alike, findings.names
    gathered = [np.flatnonzero(alike.group == number) for number in range(int(alike.group.max()) + 1)]
    kept = percent(alike.scaled.kept)
    here = chosen.layer * findings.tally.shape[1] + chosen.head
    nearest, furthest = _extremes(findings, here)
    least = f", least like it **{names[furthest]}**" if furthest != nearest else ""
    st.markdown(
        "Each point is a head, its mark a group. Heads that look at the same words lie near each other. "
        f"Head **{names[here]}** is in group **{LETTERS[alike.group[here]]}**. Most like it is "
        f"**{names[nearest]}**{least}."
    )
    left, right = st.columns([7, 5], gap="large")
    with left:
        x, y = alike.scaled.points.T
        lines = [
            Line(
                _short(findings, letter, members),
                x[members],
                y[members],
                dash=None,
                marker=marker,
                colour=colour,
                names=[f"Head {names[member]}" for member in members],
                printed=["" if member == here else names[member] for member in members],
            )
            for letter, members, (marker, colour) in zip(LETTERS, gathered, _MARKS, strict=False)
        ]
        opened = Line("", x[[here]], y[[here]], dash=None, marker="ring", colour="key", printed=[names[here]])
        curves(
            "heads in a plane",
            [*lines, opened],
            title="Heads by what they look at",
            across=Axis("heads that look at the same words stand near each other"),
            up=Axis(""),
            plane=True,
            crowded=True,
            height=380,
            alt=f"{len(names)} heads in {len(lines)} groups: {'; '.join(line.label for line in lines)}.",
            about=f"{findings.model} · each point is a head; the plane keeps {kept} of the "
            f"squared distances. {_NAMED}",
        )
    with right:
        for letter, members in zip(LETTERS, gathered, strict=False):
            st.markdown(_told(findings, letter, members))
            offer(f"heads of group {letter}", members.tolist(), findings.names, chosen)
    with st.expander("How near two heads are, and how they are grouped", icon=":material/calculate:"):
        _explain(findings, here)


def _explain(findings: Findings, here: int) -> None:
    """Write out what the distances are, what the plane keeps of them, and how groups are made."""
    alike, names = findings.alike, findings.names
    apart = " and ".join(
        f"{alike.bits[here, other]:.2f} bits from {names[other]}"
        for other in dict.fromkeys(_extremes(findings, here))
    )
    cited_markdown(
        "How far apart two heads are: the Jensen–Shannon divergence of their weights, token by token, mean "
        f"over {plural(alike.sentences, 'sentence')}, special tokens counted (Clark et al. 2019, section 6); "
        f"0 bits: they look at the same, 1 bit: at nothing in common. Head {names[here]} is {apart}. The "
        f"square root of a divergence is a true distance. **The plane keeps {percent(alike.scaled.kept)} of "
        "the squared distances** (classical scaling), so points can look nearer than their heads are, never "
        f"further apart; the axes have no meaning. {_NAMED} Point at the others, or use the arrow keys.\n\n"
        "The groups come from the full distances, by Ward’s rule. Of the rules that say at what a head "
        "looks, and of how evenly, a group is told by the two whose mean over its heads is furthest from "
        "that of all heads. That there are "
        f"{int(alike.group.max()) + 1} groups is our choice: as many as there are marks, and fewer for few "
        "heads."
    )


def _extremes(findings: Findings, here: int) -> tuple[int, int]:
    """The head that is most like this one, and the one that is least like it."""
    bits = findings.alike.bits[here].copy()
    bits[here] = np.nan
    return int(np.nanargmin(bits)), int(np.nanargmax(bits))


def _apart(findings: Findings, members: NDArray[np.intp]) -> list[tuple[Rule, float, str, str]]:
    """The rules by which a group stands apart most: by how much, and what its heads and all heads score."""
    found = []
    for rule in RULES:
        figures = findings.tally.of(rule.name)
        both = np.stack([figures.mean.ravel(), figures.raw.ravel()])
        here, everywhere = (each[:, ~np.isnan(each[0])] for each in (both[:, members], both))
        if rule.name not in _NOT_SAID and here.size:
            (score, raw), (of_all, raw_of_all) = here.mean(axis=1).tolist(), everywhere.mean(axis=1).tolist()
            amounts = rule.amount(score, raw), rule.amount(of_all, raw_of_all)
            found.append((rule, score - of_all, *amounts))
    return sorted(found, key=lambda each: -abs(each[1]))[:_SAID]


def _short(findings: Findings, letter: str, members: NDArray[np.intp]) -> str:
    """A group for the legend: "A: the token before"."""
    rule = _apart(findings, members)[0][0]
    return f"{letter}: {'evenly' if rule.name == 'broad' else findings.special.fill(rule.short)}"


def _told(findings: Findings, letter: str, members: NDArray[np.intp]) -> str:
    """A group in words: how many heads, and where their mean is furthest from that of all heads."""
    one = len(members) == 1
    who = f"head {findings.names[members[0]]} looks" if one else f"{len(members)} heads look"
    special = in_markdown(findings.special)
    parts = []
    for rule, more, score, of_all in _apart(findings, members):
        much = "as much" if score == of_all else "more" if more > 0 else "less"
        at = "evenly" if rule.name == "broad" else f"at {special.fill(rule.short)}"
        average = "" if one else " on average"
        parts.append(f"{much} {at} (**{score}**{average}; all heads: {of_all})")
    return f"**{letter}**: {who} {' and '.join(parts)}."
