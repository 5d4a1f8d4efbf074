"""Which heads do alike: each a point of a plane, near those that look at the same tokens."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from attnviz.analysis.sentence import percent
from attnviz.analysis.tally import RULES
from attnviz.ui.components.curves import Axis, Colour, Line, Marker, curves
from attnviz.ui.explore.file_names import file_name_of
from attnviz.ui.heads.behaviour.choices import Chosen
from attnviz.ui.heads.behaviour.findings import Findings, does, listed, written

LETTERS = "ABCDE"
_MARKS: tuple[tuple[Marker, Colour], ...] = (
    ("circle", "weights"),
    ("square", "feed-forward"),
    ("diamond", "text"),
    ("ring", "weights"),
    ("cross", "muted"),
)
_NOT_SAID = ("focused", "distance", "relative distance")  # these do not say at what
_NAMED = "Where heads are crowded, only those with room have their name beside them."
_SAID = 2  # rules for each group
_NEAR = 0.1  # of the attention, from the mean of all heads


def draw(findings: Findings, chosen: Chosen) -> None:
    """Draw the plane with its groups, and say how much of the truth it keeps."""
    st.header("Which heads do alike?", anchor=False)
    alike, names = findings.alike, findings.names
    gathered = [np.flatnonzero(alike.group == number) for number in range(int(alike.group.max()) + 1)]
    done = [_done(findings, members) for members in gathered]
    kept = percent(alike.plane.kept)
    here = chosen.layer * findings.tally.shape[1] + chosen.head
    left, right = st.columns([7, 5], gap="large")
    with left:
        x, y = alike.plane.points.T
        lines = [
            Line(
                f"{letter}: {short}",
                x[members],
                y[members],
                dash=None,
                marker=marker,
                colour=colour,
                names=[f"Head {names[member]}" for member in members],
                printed=["" if member == here else names[member] for member in members],
            )
            for letter, members, (short, _), (marker, colour) in zip(
                LETTERS, gathered, done, _MARKS, strict=False
            )
        ]
        opened = Line("", x[[here]], y[[here]], dash=None, marker="ring", colour="key", printed=[names[here]])
        curves(
            "heads in a plane",
            [*lines, opened],
            title="Heads by what they look at",
            across=Axis("first direction (√bits)"),
            up=Axis("second direction (√bits)"),
            plane=True,
            crowded=True,
            height=380,
            alt=f"{len(names)} heads in {len(lines)} groups: {'; '.join(line.label for line in lines)}.",
            caption=f"Each point is a head; the plane keeps {kept} of the squared distances. {_NAMED}",
            filename=f"{file_name_of(findings.model).removeprefix('attnviz-')}-heads-alike",
        )
    with right:
        st.markdown(_nearest(findings, here))
        for letter, members, (_, words) in zip(LETTERS, gathered, done, strict=False):
            size = f"{len(members)} head{'s' * (len(members) > 1)}"
            which = listed([names[member] for member in members])
            st.markdown(f"**{letter}**, {size}: {words}.\n\n:small[{which}]")
    sentences = f"{alike.sentences:,} sentence{'s' * (alike.sentences > 1)}"
    st.markdown(
        ":small[How far apart two heads are: the Jensen–Shannon divergence of their weights, token by token, "
        f"mean over {sentences}, special tokens counted (Clark et al. 2019, section 6); 0 bits: they look at "
        "the same, 1 bit: at nothing in common. Its square root is a true distance. **The plane keeps "
        f"{kept} of the squared distances** (classical scaling), so points can look nearer than their heads "
        "are, never further apart; the axes have no meaning. "
        f"{_NAMED} Point at the others, or use the arrow keys. The groups come from the full distances, by "
        f"Ward’s rule. That there are {len(lines)} is our choice: as many as there are marks.]"
    )


def _nearest(findings: Findings, here: int) -> str:
    bits = findings.alike.bits[here].copy()
    bits[here] = np.inf
    if not np.isfinite(bits).any():
        return "This model has a single head."
    nearest = int(bits.argmin())
    bits[here] = -np.inf
    furthest = int(bits.argmax())
    names = findings.names
    return (
        f"Head **{names[here]}** is in group **{LETTERS[findings.alike.group[here]]}**. Most like it is "
        f"**{names[nearest]}** ({bits[nearest]:.2f} bits apart), least like it **{names[furthest]}** "
        f"({bits[furthest]:.2f} bits)."
    )


def _done(findings: Findings, members: NDArray[np.intp]) -> tuple[str, str]:
    """What sets a group apart, briefly and in words: where its mean is furthest from that of all heads."""
    found = []
    for rule in RULES:
        means = findings.tally.of(rule.name).mean.ravel()
        if rule.name in _NOT_SAID or np.isnan(means[members]).all():
            continue
        mean, of_all = float(np.nanmean(means[members])), float(np.nanmean(means))
        score = written(rule, mean)
        words = f"{does(rule, f'**{score}**')} (all heads: {written(rule, of_all)})"
        found.append((abs(mean - of_all), f"{rule.name} {score}", words))
    found = sorted(found, reverse=True)[:_SAID]
    near = "near the mean of all; " if found[0][0] < _NEAR else ""
    return ", ".join(
        short for _, short, _ in found
    ), f"{near}on average each {' and '.join(words for *_, words in found)}"
