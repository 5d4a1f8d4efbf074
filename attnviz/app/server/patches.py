"""Patches of Streamlit against security holes and crashes that no setting prevents.

`tests/app/server/test_patches.py` shows each fault of unpatched Streamlit; if a test fails, remove its patch.
"""

from streamlit import net_util
from streamlit.elements.widgets.number_input import Number, NumberInputSerde
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

MAX_UPLOADS = 8
"""Maximum number of uploaded files per session; the app uses only the latest one."""

MAX_UPLOADED_BYTES = 100_000_000
"""Maximum total size of the uploaded files of all sessions."""

_add_file = MemoryUploadedFileManager.add_file
_deserialize = NumberInputSerde.deserialize


def apply() -> None:
    """Patch Streamlit in this process; a second call has no effect."""
    # For the first visitor to a server, Streamlit lists the files of the folder `pages` as its menu and draws
    # no page. `st.navigation` sets this attribute too, but only after that visitor's first run has begun.
    PagesManager.uses_pages_directory = False
    # Before Streamlit refuses a websocket with a foreign `Origin`, it requests the server's address from an
    # external host. This blocks the event loop: for 5 to 20 s without a network.
    net_util.get_external_ip = _unknown
    # Until a session ends, Streamlit keeps every file that the browser sends, under a name that the browser
    # chooses, so a client could fill the server's memory.
    MemoryUploadedFileManager.add_file = _add_bounded  # type: ignore[method-assign]  # replaced on purpose
    # A link with an infinite number (`?layer=inf`) stops the page with an OverflowError.
    NumberInputSerde.deserialize = _finite  # type: ignore[method-assign]  # replaced on purpose


def _unknown() -> None:
    """Return None, Streamlit's value for an unknown address."""


def _add_bounded(self: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
    """Store an uploaded file, after removing earlier files that would exceed the limits."""
    others = [name for name in self.file_storage.get(session_id, {}) if name != file.file_id]
    for oldest in others[: 1 - MAX_UPLOADS]:
        self.remove_file(session_id, oldest)
    kept = [(session, each) for session, files in self.file_storage.items() for each in files.values()]
    size = sum(len(each.data) for _, each in kept) + len(file.data)
    for session, each in kept:
        if size > MAX_UPLOADED_BYTES:
            self.remove_file(session, each.file_id)
            size -= len(each.data)
    _add_file(self, session_id, file)


def _finite(self: NumberInputSerde, ui_value: Number | None) -> Number | None:
    """Deserialize a number; for an infinite one, raise ValueError, which Streamlit handles."""
    try:
        return _deserialize(self, ui_value)
    except OverflowError as error:
        raise ValueError(str(error)) from error
