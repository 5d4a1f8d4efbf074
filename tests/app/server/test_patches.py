"""The patches of Streamlit: what each patch prevents, and whether it is still needed.

When a test whose name ends in `without_the_patch` fails, Streamlit has changed: remove the patch.
"""

from inspect import unwrap
from math import inf

import pytest
from streamlit import net_util
from streamlit.elements.widgets.number_input import NumberInputSerde
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server import server_util

from attnviz.app.server import patches
from tests.app.shown import APP


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the patches; after each test, undo the changes that the test made."""
    patches.apply()
    monkeypatch.setattr(net_util, "get_external_ip", net_util.get_external_ip)
    monkeypatch.setattr(PagesManager, "uses_pages_directory", PagesManager.uses_pages_directory)


def test_infinite_number_crashes_a_page_without_the_patch() -> None:
    serde = NumberInputSerde(value=4, data_type=0, min_value=1, max_value=6)
    with pytest.raises(OverflowError):
        patches._deserialize(serde, inf)
    with pytest.raises(ValueError, match="infinity"):
        serde.deserialize(inf)


def upload(add: object, sizes: list[int]) -> MemoryUploadedFileManager:
    """Upload files of these sizes in one session; their ids are "0", "1", and so on."""
    manager = MemoryUploadedFileManager("/upload")
    for number, size in enumerate(sizes):
        add(manager, "session", UploadedFileRec(str(number), "name", "text/plain", b"x" * size))  # type: ignore[operator]
    return manager


def test_session_keeps_its_latest_files(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = upload(MemoryUploadedFileManager.add_file, [7] * 11)
    assert list(manager.file_storage["session"]) == [str(number) for number in range(3, 11)]
    manager.add_file("session", UploadedFileRec("10", "name", "text/plain", b"x" * 5))
    assert manager._total_bytes == 7 * 7 + 5
    monkeypatch.setattr(patches, "MAX_UPLOADED_BYTES", 20)
    manager.add_file("other", UploadedFileRec("0", "name", "text/plain", b"x" * 8))
    assert manager._total_bytes <= 20


def test_session_keeps_all_its_files_without_the_patch() -> None:
    assert len(upload(patches._add_file, [7] * 1_000).file_storage["session"]) == 1_000


def test_foreign_origin_causes_an_external_request_without_the_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert net_util.get_external_ip() is None
    lookups: list[None] = []
    monkeypatch.setattr(net_util, "get_external_ip", lambda: lookups.append(None))
    assert not server_util.is_url_from_allowed_origins("http://foreign.example")
    assert lookups


def test_first_menu_lists_the_pages_folder_without_the_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    PagesManager.uses_pages_directory = None
    monkeypatch.setattr(PagesManager, "__init__", unwrap(PagesManager.__init__))  # wrapped in conftest.py
    PagesManager(str(APP))
    assert PagesManager.uses_pages_directory
