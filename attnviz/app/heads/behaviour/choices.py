"""What the heads are watched on, the model, a head, and the rule by which all are coloured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.rules import Rule
from attnviz.analysis.tally import NAMES, RULES
from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.app.heads.behaviour import texts
from attnviz.app.page import bar
from attnviz.app.state.choices import RULE

_MOST = 60  # buttons; of more heads, the table has all


@dataclass(frozen=True)
class RuledHead(choosing.HeadSelection):
    """The open head, and the rule by which all heads are coloured."""

    rule: Rule


def choose() -> tuple[RuledHead, str, str, DeltaGenerator]:
    """Draw the choices.

    Returns:
        The head and the rule; where many sentences come from, "" for one; that one; the place for a text.

    Raises:
        AttnvizError: the model cannot read the one sentence.
    """
    with bar():
        first, second, third = st.columns([6, 3, 4])
        below = st.container(horizontal=True, vertical_alignment="center")
    with below:
        source = texts.choose()
        name = RULE.select("Colour by", NAMES, width=260)
    with second:
        entry = controls.reading_model(offer_own=False)
    with first:
        text = texts.sentence(source, entry)
    with third:
        layer, head = choosing.head(entry, entry.kinds[0])
    ruled = RuledHead(entry, entry.kinds[0], layer, head, RULES[NAMES.index(name)])
    return ruled, source, text, first


def offer(key: str, heads: Sequence[int], names: Sequence[str], chosen: RuledHead) -> None:
    """Draw a button that opens the head, or one behind which there are all of them.

    `heads` are one or more, from 0, as they stand among all `names`; `key` is that of the buttons.
    """
    if len(heads) == 1:
        name = names[heads[0]]
        st.button(
            f"Open {name}",
            key=f"{key} alone",
            on_click=controls.open_head,
            args=divmod(heads[0], chosen.entry.heads),
            disabled=name == chosen.name,
        )
        return
    with st.popover(f"Open one of the {len(heads):,}"):
        offered = {names[head]: divmod(head, chosen.entry.heads) for head in heads[:_MOST]}
        controls.buttons("Heads", offered, key, lambda at: controls.open_head(*at), chosen.name)
        if len(heads) > _MOST:
            st.markdown(f":small[And {len(heads) - _MOST:,} more, which the table of all heads has.]")
