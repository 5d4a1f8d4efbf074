"""A button that copies the link to exactly this view."""

from __future__ import annotations

from attnviz.ui.components.component import component

_mount = component("copy_link")


def copy_link(key: str, /) -> None:
    """Draws "Copy link": the browser's address, which holds every choice on the page, goes to the clipboard.

    Works on plain http in a classroom's network too, where browsers keep the clipboard shut to pages: it then
    copies from a text field, and where that is refused as well, leaves the field for copying by hand.

    Args:
        key: Streamlit's key of this widget.
    """
    _mount(key=key)
