"""A picture or a sound of the visitor's own, and what is said where there is none, or no model for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import markdown
from attnviz.app.state import link
from attnviz.app.state.choice import Choice
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry

OWN = "your own"
"""What the choice between the visitor's file and ours calls it."""


@dataclass(frozen=True)
class FileSelection:
    """A model, and a picture or a sound for it.

    Attributes:
        entry: of the model.
        example: what the trace calls the picture or the sound.
        file: with it; None while the visitor's own is missing.
        called: what the visitor calls the file; "" for one of ours.
    """

    entry: Entry
    example: str
    file: bytes | None
    called: str

    @property
    def own(self) -> bool:
        """Whether it is the visitor's, and so in no link."""
        return self.example == OWN

    def tell(self, error: AttnvizError, icon: str) -> None:
        """Say why the model cannot take the file."""
        about = f"**{markdown.plain(self.called)}:** " if self.called else ""
        st.error(f"{about}{markdown.plain(str(error))}", icon=icon)


def upload(what: str, kinds: str, endings: Sequence[str], megabytes: int) -> tuple[bytes | None, str]:
    """Draw the box for it; return the file, None while there is none, and its name.

    Args:
        what: "picture".
        kinds: which files can be read, in words.
        endings: of their names.
        megabytes: the largest.
    """
    file = st.file_uploader(
        f"A {what} of your own: {kinds}",
        endings,
        max_upload_size=megabytes,
        help="The server keeps it in memory for a while, and never on a disk. A link cannot bring it "
        f"along: whoever opens yours uploads a {what} of their own.",
    )
    return (file.getvalue(), file.name) if file else (None, "")


def missing(choice: Choice[Any], what: str, holds: str) -> None:
    """Say to those whom a link has led here that it holds no file, but all else: "the head and the patch"."""
    if link.asked(choice) == [OWN]:
        st.info(
            f"**The {what} is not in the link.** It holds the model, {holds}. Upload the {what} here, and "
            "you see what the link shows.",
            icon=":material/upload_file:",
        )


def no_model(does: str, how: str) -> NoReturn:
    """Say that no model here "sees pictures" yet, and how to open one; end the page."""
    link.forget()
    st.markdown(f"**No model on this server {does} yet.**")
    if allowed.may_open():
        st.markdown(how)
        st.page_link(
            "pages/models.py", label="Models", icon=":material/arrow_forward:", icon_position="right"
        )
    raise StopException  # as `page.stop` does
