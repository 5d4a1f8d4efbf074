"""One rule on the map of all heads, and all rules of one head, each beside what even attention gives."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.tally import RULES, Figures, Rule
from attnviz.capture.given import Given
from attnviz.ui import caches, links, markdown
from attnviz.ui.components.distributions import Measured, distributions
from attnviz.ui.components.head_map import head_map
from attnviz.ui.heads import choosing
from attnviz.ui.heads.behaviour.choices import Chosen, first_kind
from attnviz.ui.heads.behaviour.findings import Findings, does, spread, written
from attnviz.ui.heads.behaviour.texts import MANY

_RESTING = ("first", "separator")
_TOLD = 3  # rules in the first sentence of the page
_NOT_SAID = ("focused", "broad", "distance", "relative distance")  # these do not say at what


def tell(findings: Findings) -> None:
    """Write out the main finding: the rules by which a head stands out most, with its numbers."""
    best = []
    for rule in RULES:
        figures = findings.tally.of(rule.name)
        if rule.name not in _NOT_SAID and (at := _strongest(figures)):
            best.append((float(figures.mean[at] - figures.baseline[at[0]]), at, figures))
    best.sort(key=lambda each: -each[0])
    parts = [
        f"head **{layer + 1}-{head + 1}** "
        f"{does(figures.rule, f'**{written(figures.rule, figures.mean[layer, head])}**')} "
        f"(even attention would: {written(figures.rule, figures.baseline[layer])})"
        for _, (layer, head), figures in best[:_TOLD]
    ]
    anecdote = "" if findings.many else f" One sentence is an anecdote: choose *{MANY}* to see more."
    if parts:
        st.markdown(f"{findings.where}, {'; '.join(parts)}.{anecdote}")


def draw(findings: Findings, chosen: Chosen) -> None:
    """Draw the map, coloured by one rule, and beside it what is known of one head."""
    left, right = st.columns([7, 5], gap="large")
    with left:
        _map(findings, chosen)
    with right:
        _details(findings, chosen)


def _map(findings: Findings, chosen: Chosen) -> None:
    rule, figures = chosen.rule, findings.tally.of(chosen.rule.name)
    entry = caches.entry(findings.model)
    whose = f"{first_kind(entry)} heads" if len(entry.kinds) > 1 else "heads"
    st.header(f"All {figures.mean.size} {whose} by one rule", anchor=False)
    st.markdown(f":small[{_rule(findings, figures)}]")
    highest = float(np.nanmax(figures.mean, initial=0.0))
    top = rule.most if highest == 0 else highest
    head_map(
        "heads by rule",
        title=f"{rule.name}: mean over the sentences" if findings.many else rule.name,
        values=figures.mean.astype(np.float32),
        texts=[_told(figures, *at) for at in np.ndindex(figures.mean.shape)],
        printed=[_printed(rule, score) for score in figures.mean.ravel()],
        low=(0.0, written(rule, 0.0)),
        high=(top, written(rule, top)),
        selected=(chosen.layer + 1, chosen.head + 1),
        on_pick=lambda layer, head: choosing.open_head(layer - 1, head - 1),
    )
    st.markdown(f":small[{_compared(figures)}]")
    if findings.text is not None:
        _by_filter(findings, findings.text, rule)


def _by_filter(findings: Findings, text: str, rule: Rule) -> None:
    """Say which heads Explore's filter of the same name finds in the sentence, and by what threshold."""
    kind = first_kind(caches.entry(findings.model))
    for found in caches.found(findings.model, Given(text), kind, False):
        if found.name == rule.name:
            names = [f"{layer + 1}-{head + 1}" for layer, head in zip(*np.nonzero(found.found), strict=True)]
            listed = f": {', '.join(names)}" if names else ""
            st.markdown(
                f":small[**Explore’s filter “{rule.name}” finds {len(names)} of {found.found.size} "
                f"heads{listed}.** {markdown.plain(found.rule)}]"
            )


def _rule(findings: Findings, figures: Figures) -> str:
    """The rule in words, and what it was counted on."""
    rule, most = figures.rule, int(figures.count.max())
    counted = f"**{rule.name}:** on average a token {markdown.plain(rule.words)}."
    if not most:
        return f"{counted} It means something only in {rule.meaning}, and there is none here."
    if rule.name in _RESTING:
        counted += " Such a token is often a place to rest: a look at it may do little (Clark et al. 2019)."
    elif findings.tally.of("separator").count.any():
        counted += " How much a head gives to special tokens is told by the rules first and separator."
    if findings.many:
        counted += f" Counted: {rule.meaning}, {most:,} of {int(findings.tally.sentences):,}."
    return counted


def _told(figures: Figures, layer: int, head: int) -> str:
    score = figures.mean[layer, head]
    if np.isnan(score):
        return "this rule means nothing here"
    even = written(figures.rule, figures.baseline[layer])
    return f"{does(figures.rule, written(figures.rule, score))}; even attention would: {even}"


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
    last = np.unravel_index(int(np.nanargmin(figures.mean)), figures.mean.shape)
    rule, even = figures.rule, figures.baseline
    first_name, last_name = (f"**{layer + 1}-{head + 1}**" for layer, head in (at, last))
    said = (
        f"Most: head {first_name}, {written(rule, figures.mean[at])}; least: {last_name}, "
        f"{written(rule, figures.mean[last])}; even attention: {written(rule, float(np.nanmean(even)))}."
    )
    if rule.name not in ("broad", "distance", "relative distance"):
        twice = int((figures.mean >= 2 * even[:, None]).sum())
        said += f" {twice} of {figures.mean.size} heads reach twice the even share."
    return f"{said} The colours run from 0 to the strongest head of this rule, for all heads alike."


def _details(findings: Findings, chosen: Chosen) -> None:
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
                    mean=mean / rule.most,
                    baseline=even / rule.most,
                    heights=figures.distribution[layer, head].round(4).tolist() if findings.many else [],
                    written=written(rule, mean) + spread(figures, layer, head),
                    even=written(rule, even),
                    ends=("0", "100 %" if rule.unit == "share" else f"{rule.most:.0f}+"),
                    chosen=rule is chosen.rule,
                )
            )
    bars = (
        "Bars: how many of the sentences score about so much. ± is their standard deviation. "
        if findings.many
        else ""
    )
    distributions(
        "rules of head",
        rows,
        heading="How its sentences score" if findings.many else "On its scale",
        caption=f"{bars}Solid mark: this head’s mean. Dashed: a head that shares its attention evenly, on "
        "the same sentences.",
    )
    along = [(key, value) for key, values in links.given(["model", "text"]).items() for value in values]
    along += [("layer", str(layer + 1)), ("head", str(head + 1))]
    edit = f"{first_kind(caches.entry(findings.model))} {chosen.name}"
    with st.container(horizontal=True):
        for page, label, icon, query in (
            ("explore", f"Open {chosen.name} in Explore", ":material/grid_view:", along),
            ("intervene", "Silence it", ":material/volume_off:", [*along, ("edits", edit)]),
        ):
            st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params=query)
