"""A button that copies the link to the current view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from attnviz.app.components.component import mount
from attnviz.app.server import address


def copy_link(
    key: str, parameters: Mapping[str, list[str]], /, always: Sequence[str] = (), never: Sequence[str] = ()
) -> None:
    """Draw "Copy link", which copies the page's URL, with all choices, to the clipboard.

    The link contains the address at which other devices reach the app, if it is known. If the browser does
    not allow copying, the widget shows a text field with the link.

    Args:
        key: Streamlit key of this widget.
        parameters: All choices on the page. After a change of page, the URL has none of them
            until the visitor changes something.
        always: Parameters that the link includes even at their default, because the default depends
            on other parameters.
        never: Parameters to remove from the copied link.
    """
    mount(
        "copy_link",
        key,
        {
            "query": urlencode(parameters, doseq=True),
            "always": always,
            "never": never,
            "shared_url": address.shared_url(),
        },
    )
