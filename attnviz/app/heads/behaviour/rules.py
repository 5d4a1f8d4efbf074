"""One rule on the map of all heads, and all rules of one head, each beside what even attention gives."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.rules import OF_ALL, OF_WORDS, Rule
from attnviz.analysis.tally import OF_PLACES, RULES, Figures
from attnviz.app import controls, markdown, traces
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.behaviour.choices import RuledHead
from attnviz.app.heads.behaviour.distributions import Measured, distributions
from attnviz.app.heads.behaviour.findings import Findings, evenly, spread, written
from attnviz.app.heads.behaviour.texts import MANY
from attnviz.app.heads.behaviour.words import in_full, in_markdown
from attnviz.app.models import lookup
from attnviz.capture.model import ModelInput
from attnviz.text import head_name, joined, percent, plural, unbroken


def tell(findings: Findings) -> None:
    """Write out the main finding: the rule by which a head stands out most, with its numbers."""
    best = []
    for rule in OF_PLACES:
        figures = findings.tally.of(rule.name)
        if at := _strongest(figures):
            best.append((float(figures.mean[at] - figures.baseline[at[0]]), at, figures))
    if not best:
        return
    _, (layer, head), figures = max(best, key=lambda each: each[0])
    score = f"**{written(figures, layer, head)}**"
    st.markdown(
        f"{findings.where}, in head **{head_name(layer, head)}** (layer {layer + 1}, head {head + 1}) a "
        f"token on average {in_markdown(findings.special).fill(figures.rule.does, score)}. A head that "
        f"shares its attention evenly would give it {evenly(figures, layer)}.{_anecdote(findings)}"
    )


def _anecdote(findings: Findings) -> str:
    if findings.many:
        return ""
    remedy = f"choose *{MANY}*" if findings.text is not None else "give more lines"
    return f" One sentence is an anecdote: {remedy}."


def draw(findings: Findings, chosen: RuledHead) -> None:
    """Draw the map, coloured by one rule, and beside it what is found, and what is known of one head."""
    left, right = st.columns([7, 5], gap="large")
    with left:
        _map(findings, chosen)
    with right:
        tell(findings)
        st.markdown(_rule(findings, findings.tally.of(chosen.rule.name)))


def _map(findings: Findings, chosen: RuledHead) -> None:
    rule, figures = chosen.rule, findings.tally.of(chosen.rule.name)
    highest = float(np.nanmax(figures.mean, initial=0.0))
    top = rule.most if highest == 0 else highest
    head_map(
        "heads by rule",
        title=f"{rule.title}: mean over the sentences" if findings.many else rule.title,
        values=figures.mean.astype(np.float32),
        texts=[_told(findings, figures, *at) for at in np.ndindex(figures.mean.shape)],
        printed=[_printed(rule, score) for score in figures.mean.ravel()],
        low=(0.0, rule.number(0.0)),
        high=(top, rule.number(top)),
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head,
    )


def counted(findings: Findings, chosen: RuledHead) -> None:
    """Draw how the rule is counted, and whom Explore's filter finds by it."""
    figures = findings.tally.of(chosen.rule.name)
    st.markdown(f"{_compared(figures)}\n\n{_counted(findings, figures)}")
    if findings.text is not None:
        _by_filter(chosen, findings.text)


def _by_filter(chosen: RuledHead, text: str) -> None:
    """Say which heads Explore's filter of the rule's name finds in the sentence, and by what threshold."""
    for found in traces.found(chosen.entry.name, ModelInput(text), chosen.kind, False):
        if found.name == chosen.rule.name:
            names = [head_name(layer, head) for layer, head in zip(*np.nonzero(found.found), strict=True)]
            listed = f": {', '.join(names)}" if names else ""
            st.markdown(
                f"**Explore’s filter “{chosen.rule.name}” finds {len(names)} of "
                f"{plural(found.found.size, 'head')}{listed}.** {markdown.plain(found.sentence)}"
            )


def _rule(findings: Findings, figures: Figures) -> str:
    """The colours in words."""
    rule = figures.rule
    told = f"The colours: on average a token {rule.defined(in_markdown(findings.special))}."
    if figures.count.any():
        return told
    return f"{told} It means something only in {rule.meaning}, and there is none here."


def _counted(findings: Findings, figures: Figures) -> str:
    """On what it was counted, and how it is coloured."""
    counted = in_full(figures.rule, findings.special)
    if findings.many:
        sentences = int(findings.tally.sentences)
        counted += f"Counted: {figures.rule.meaning}, {int(figures.count.max()):,} of {sentences:,}. "
    return f"{counted}The colours run from 0 to the strongest head of this rule, for all heads alike."


def _told(findings: Findings, figures: Figures, layer: int, head: int) -> str:
    if np.isnan(figures.mean[layer, head]):
        return "this rule means nothing here"
    told = findings.special.fill(figures.rule.does, written(figures, layer, head))
    return f"{told}; even attention would: {evenly(figures, layer)}"


def _printed(rule: Rule, score: float) -> str:
    if np.isnan(score):
        return ""
    return f"{score:.1f}" if rule.unit == "tokens" else percent(score).removesuffix(" %").replace(" ", "")


def _strongest(figures: Figures) -> tuple[int, int] | None:
    """The layer and head with the largest mean; None where no sentence counted."""
    if np.isnan(figures.mean).all():
        return None
    layer, head = np.unravel_index(int(np.nanargmax(figures.mean)), figures.mean.shape)
    return int(layer), int(head)


def _compared(figures: Figures) -> str:
    """Which head leads, which comes last, and how many exceed even attention clearly."""
    at = _strongest(figures)
    if at is None:
        return "Hatched: no value."
    layer, head = np.unravel_index(int(np.nanargmin(figures.mean)), figures.mean.shape)
    said = (
        f"Most: head **{head_name(*at)}**, {written(figures, *at)}; least: "
        f"**{head_name(int(layer), int(head))}**, {written(figures, int(layer), int(head))}; "
        f"even attention: {evenly(figures, at[0])}."
    )
    if not figures.rule.of:
        return said
    twice = int((figures.mean >= 2 * figures.baseline[:, None]).sum())
    reach = "reaches" if twice == 1 else "reach"
    heads = plural(figures.mean.size, "head")
    return f"{said} {twice} of {heads} {reach} twice the even share {figures.rule.of}."


def of_attention(findings: Findings, layer: int, head: int) -> list[tuple[str, float]]:
    """To what a head gives its attention, in shares that sum to 1: special tokens, by name, and the rest."""
    names = {"first": findings.special.first, "separator": joined(findings.special.separators)}
    raw = [(name, float(findings.tally.of(rule).raw[layer, head])) for rule, name in names.items() if name]
    return [*raw, ("everything else", 1 - sum(share for _, share in raw))]


def of_head(findings: Findings, chosen: RuledHead) -> None:
    """Draw what the open head scores by every rule."""
    layer, head = chosen.layer, chosen.head
    rows = []
    for rule in RULES:
        figures = findings.tally.of(rule.name)
        if figures.count[layer]:
            mean, even = float(figures.mean[layer, head]), float(figures.baseline[layer])
            raw = unbroken(percent(float(figures.raw[layer, head])))
            rows.append(
                Measured(
                    name=rule.name,
                    words=findings.special.fill(rule.short),
                    mean=mean / rule.most,
                    baseline=even / rule.most,
                    heights=figures.distribution[layer, head].round(4).tolist() if findings.many else [],
                    written=rule.number(mean) + spread(figures, layer, head),
                    of=f"{rule.of}; {raw} {OF_ALL}" if rule.of == OF_WORDS else rule.of,
                    even=rule.number(even),
                    ends=("0", f"{rule.most:.0f}+" if rule.unit == "tokens" else "100 %"),
                    chosen=rule is chosen.rule,
                )
            )
    parts = of_attention(findings, layer, head)
    if len(parts) > 1:
        listed = [f"**{percent(share, 1)}** to {markdown.plain(name)}" for name, share in parts]
        st.markdown(f"Of its attention, a token that is not special gives on average {joined(listed)}.")
    bars = (
        "Bars: how many of the sentences score about so much. ± is their standard deviation. "
        if findings.many
        else ""
    )
    distributions(
        "rules of head",
        rows,
        about=f"{lookup.called(findings.model)} · head {chosen.name}",
        heading="How its sentences score" if findings.many else "On its scale",
        caption=f"{bars}Solid mark: this head’s mean. Even, and dashed: a head that shares its attention "
        "evenly, on the same sentences.",
    )
