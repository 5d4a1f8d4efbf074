"""One rule on the map of all heads, and all rules of one head, each beside what even attention gives."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.tally import RULES, Figures, Rule
from attnviz.app import caches, controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.behaviour.choices import HeadSelection, first_kind
from attnviz.app.heads.behaviour.distributions import Measured, distributions
from attnviz.app.heads.behaviour.findings import Findings, spread, written
from attnviz.app.heads.behaviour.texts import MANY
from attnviz.app.heads.behaviour.words import does, in_full, in_short
from attnviz.app.state import link
from attnviz.app.state.choices import EDITS, HEAD, LAYER, MODEL, TEXT
from attnviz.capture.model import ModelInput
from attnviz.text import head_name, plural

_NOT_SAID = ("focused", "broad", "distance", "relative distance")  # these do not say at what


def tell(findings: Findings) -> None:
    """Write out the main finding: the rule by which a head stands out most, with its numbers."""
    best = []
    for rule in RULES:
        figures = findings.tally.of(rule.name)
        if rule.name not in _NOT_SAID and (at := _strongest(figures)):
            best.append((float(figures.mean[at] - figures.baseline[at[0]]), at, figures))
    if not best:
        return
    _, (layer, head), figures = max(best, key=lambda each: each[0])
    score = f"**{written(figures.rule, figures.mean[layer, head])}**"
    st.markdown(
        f"{findings.where}, head **{head_name(layer, head)}** (layer {layer + 1}, head {head + 1}) "
        f"{does(figures.rule, score, findings.special.markdown)}. A head that shares its attention evenly "
        f"would give it {written(figures.rule, figures.baseline[layer])}.{_anecdote(findings)}"
    )


def _anecdote(findings: Findings) -> str:
    if findings.many:
        return ""
    remedy = f"choose *{MANY}*" if findings.text is not None else "give more lines"
    return f" One sentence is an anecdote: {remedy}."


def draw(findings: Findings, chosen: HeadSelection) -> None:
    """Draw the map, coloured by one rule, and beside it what is known of one head."""
    left, right = st.columns([7, 5], gap="large")
    with left:
        _map(findings, chosen)
    with right:
        _details(findings, chosen)


def _map(findings: Findings, chosen: HeadSelection) -> None:
    rule, figures = chosen.rule, findings.tally.of(chosen.rule.name)
    entry = caches.entry(findings.model)
    whose = f"{first_kind(entry)} heads" if len(entry.kinds) > 1 else "heads"
    st.header(f"All {figures.mean.size} {whose} by one rule", anchor=False)
    st.markdown(_rule(findings, figures))
    highest = float(np.nanmax(figures.mean, initial=0.0))
    top = rule.most if highest == 0 else highest
    head_map(
        "heads by rule",
        title=f"{rule.name}: mean over the sentences" if findings.many else rule.name,
        values=figures.mean.astype(np.float32),
        texts=[_told(findings, figures, *at) for at in np.ndindex(figures.mean.shape)],
        printed=[_printed(rule, score) for score in figures.mean.ravel()],
        low=(0.0, written(rule, 0.0)),
        high=(top, written(rule, top)),
        selected=(chosen.layer + 1, chosen.head + 1),
        on_pick=lambda layer, head: controls.open_head(layer - 1, head - 1),
    )
    st.markdown(_compared(figures))
    with st.expander("How this is counted", icon=":material/calculate:"):
        st.markdown(_counted(findings, figures))
        if findings.text is not None:
            _by_filter(findings, findings.text, rule)


def _by_filter(findings: Findings, text: str, rule: Rule) -> None:
    """Say which heads Explore's filter of the same name finds in the sentence, and by what threshold."""
    kind = first_kind(caches.entry(findings.model))
    for found in caches.found(findings.model, ModelInput(text), kind, False):
        if found.name == rule.name:
            names = [head_name(layer, head) for layer, head in zip(*np.nonzero(found.found), strict=True)]
            listed = f": {', '.join(names)}" if names else ""
            st.markdown(
                f"**Explore’s filter “{rule.name}” finds {len(names)} of "
                f"{plural(found.found.size, 'head')}{listed}.** {markdown.plain(found.rule)}"
            )


def _rule(findings: Findings, figures: Figures) -> str:
    """The rule in words."""
    rule = figures.rule
    unit = "this share" if rule.unit == "share" else "this many tokens"
    told = f"**{rule.name}:** on average a token {does(rule, unit, findings.special.markdown)}."
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
    score = figures.mean[layer, head]
    if np.isnan(score):
        return "this rule means nothing here"
    even = written(figures.rule, figures.baseline[layer])
    told = does(figures.rule, written(figures.rule, score), findings.special)
    return f"{told}; even attention would: {even}"


def _printed(rule: Rule, score: float) -> str:
    if np.isnan(score):
        return ""
    return f"{100 * score:.0f}" if rule.unit == "share" else f"{score:.1f}"


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
    rule, even, heads = figures.rule, figures.baseline, figures.mean.size
    said = (
        f"Most: head **{head_name(*at)}**, {written(rule, figures.mean[at])}; least: "
        f"**{head_name(int(layer), int(head))}**, {written(rule, figures.mean[layer, head])}; "
        f"even attention: {written(rule, float(np.nanmean(even)))}."
    )
    if rule.name in ("broad", "distance", "relative distance"):
        return said
    twice = int((figures.mean >= 2 * even[:, None]).sum())
    reach = "reaches" if twice == 1 else "reach"
    return f"{said} {twice} of {plural(heads, 'head')} {reach} twice the even share."


def _details(findings: Findings, chosen: HeadSelection) -> None:
    layer, head = chosen.layer, chosen.head
    st.header(f"All rules of head {chosen.name}", anchor=False)
    rows = []
    for rule in RULES:
        figures = findings.tally.of(rule.name)
        if figures.count[layer]:
            mean, even = float(figures.mean[layer, head]), float(figures.baseline[layer])
            rows.append(
                Measured(
                    name=rule.name,
                    words=in_short(rule, findings.special),
                    mean=mean / rule.most,
                    baseline=even / rule.most,
                    heights=figures.distribution[layer, head].round(4).tolist() if findings.many else [],
                    written=written(rule, mean) + spread(figures, layer, head),
                    even=written(rule, even),
                    ends=("0", "100 %" if rule.unit == "share" else f"{rule.most:.0f}+"),
                    chosen=rule is chosen.rule,
                )
            )
    st.markdown("On average, a token gives this much of its attention to:")
    bars = (
        "Bars: how many of the sentences score about so much. ± is their standard deviation. "
        if findings.many
        else ""
    )
    distributions(
        "rules of head",
        rows,
        heading="How its sentences score" if findings.many else "On its scale",
        caption=f"{bars}Solid mark: this head’s mean. Even, and dashed: a head that shares its attention "
        "evenly, on the same sentences.",
    )
    along = [*link.along(MODEL, TEXT), (LAYER.name, str(layer + 1)), (HEAD.name, str(head + 1))]
    edit = f"{first_kind(caches.entry(findings.model))} {chosen.name}"
    with st.container(horizontal=True):
        for page, label, icon, query in (
            ("explore", f"Open {chosen.name} in Explore", ":material/grid_view:", along),
            ("intervene", "Silence it", ":material/volume_off:", [*along, (EDITS.name, edit)]),
        ):
            st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params=query)
