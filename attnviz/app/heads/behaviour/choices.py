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
from attnviz.text import head_name
from attnviz.trace import Kind

_MOST = 60  # buttons; all heads are in the table

# On a phone, three rows of rules would push the picture off the screen: there is one, which scrolls.
_STYLE = """<style>@media (max-width: 640px) {
  .st-key-rule .stButtonGroup [role="radiogroup"] { flex-wrap: nowrap; }
}</style>"""


@dataclass(frozen=True)
class HeadSelection:
    """The rule by which heads are coloured, and the head that is open, from 0."""

    rule: Rule
    layer: int
    head: int

    @property
    def name(self) -> str:
        """The head's: "4-2"."""
        return head_name(self.layer, self.head)


def first_kind(entry: Entry) -> Kind:
    """The attention that is looked at: an encoder's, where there is one."""
    return entry.kinds[0]


def choose(entry: Entry) -> HeadSelection:
    """Draw the choices."""
    st.html(_STYLE)
    left, right = st.columns([7, 5], vertical_alignment="bottom")
    with left:
        name = RULE.pills("Colour the heads by …", NAMES)
    with right:
        layer, head = choosing.head(entry, first_kind(entry))
    return HeadSelection(RULES[NAMES.index(name)], layer, head)


def offer(key: str, heads: Sequence[int], names: Sequence[str], chosen: HeadSelection) -> None:
    """Draw a button that opens the head, or one behind which there are all of them.

    `heads` are one or more, from 0, as they stand among all `names`; `key` is that of the buttons.
    """
    if len(heads) == 1:
        name = names[heads[0]]
        st.button(
            f"Open {name}", key=f"{key} alone", on_click=_open, args=(name,), disabled=name == chosen.name
        )
        return
    with st.popover(f"Open one of the {len(heads):,}"):
        offered = {names[head]: names[head] for head in heads[:_MOST]}
        controls.buttons("Heads", offered, key, _open, chosen.name)
        if len(heads) > _MOST:
            st.markdown(f":small[And {len(heads) - _MOST:,} more, which the table of all heads has.]")


def _open(name: str) -> None:
    layer, head = name.split("-")
    controls.open_head(int(layer) - 1, int(head) - 1)
