"""What opens one of several heads: a button for each."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.app import controls
from attnviz.app.heads.behaviour.choices import HeadSelection
from attnviz.app.heads.behaviour.findings import Findings

_MOST = 60  # buttons; all heads are in the table


def offer(key: str, heads: Sequence[int], findings: Findings, chosen: HeadSelection) -> None:
    """Draw a button that opens the head, or one behind which there are all of them.

    `heads` are one or more, from 0, layer by layer; `key` is that of the buttons, for Streamlit.
    """
    if len(heads) == 1:
        name = findings.names[heads[0]]
        st.button(
            f"Open {name}",
            key=f"{key} alone",
            on_click=_open,
            args=(findings, heads[0]),
            disabled=name == chosen.name,
        )
        return
    with st.popover(f"Open one of the {len(heads):,}"):
        offered = {findings.names[head]: head for head in heads[:_MOST]}
        controls.buttons("Heads", offered, key, lambda head: _open(findings, head), chosen.name)
        if len(heads) > _MOST:
            st.markdown(f":small[And {len(heads) - _MOST:,} more, which the table of all heads has.]")


def _open(findings: Findings, head: int) -> None:
    controls.open_head(*divmod(head, findings.tally.shape[1]))
