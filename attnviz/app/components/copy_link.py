"""A button that copies the link to exactly this view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from attnviz.app.components.component import mount
from attnviz.app.server import address


def copy_link(
    key: str, given: Mapping[str, list[str]], /, always: Sequence[str] = (), never: Sequence[str] = ()
) -> None:
    """Draws "Copy link": the browser's address, which holds the choices on the page, goes to the clipboard.

    What is copied has the address at which others reach the app, where that can be known.

    Works on plain http in a classroom's network too, where browsers keep the clipboard shut to pages: it then
    copies from a text field, and where that is refused as well, leaves the field for copying by hand.

    Args:
        key: Streamlit's key of this widget.
        given: every choice on the page, as a link writes it. The address lacks them all where a visitor has
            come from another page of the app and has not changed anything yet.
        always: choices that the address names even where the visitor left them as they were: elsewhere,
            another may stand first.
        never: choices that stand in the address, and not in the copied link.
    """
    mount(
        "copy_link",
        key,
        {
            "query": urlencode(given, doseq=True),
            "always": always,
            "never": never,
            "others": address.for_others(),
        },
    )
