"""The choices of a rule and of a head, which all pictures of the page follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.rules import Rule
from attnviz.analysis.tally import NAMES, RULES
from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.app.state.choices import RULE
from attnviz.models.catalogue import Entry

_MOST = 60  # buttons; all heads are in the table

# On a phone, three rows of rules would push the picture off the screen: there is one, which scrolls.
_STYLE = """<style>@media (max-width: 640px) {
  .st-key-rule .stButtonGroup [role="radiogroup"] { flex-wrap: nowrap; }
}</style>"""


@dataclass(frozen=True)
class RuledHead(choosing.HeadSelection):
    """The open head, and the rule by which all heads are coloured."""

    rule: Rule


def choose(entry: Entry) -> RuledHead:
    """Draw the choices."""
    st.html(_STYLE)
    left, right = st.columns([7, 5], vertical_alignment="bottom")
    with left:
        name = RULE.pills("Colour the heads by …", NAMES)
    with right:
        layer, head = choosing.head(entry, entry.kinds[0])
    return RuledHead(entry, entry.kinds[0], layer, head, RULES[NAMES.index(name)])


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
