"""The corrections of Streamlit."""

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest

from attnviz.app import patches


def page() -> None:
    import streamlit as st

    from attnviz.app import patches

    patches.apply()
    st.text(st.number_input("whole", 1, 6, 4, key="whole", bind="query-params"))
    st.text(st.number_input("real", 0.5, 2.0, 1.0, key="real", bind="query-params"))
    st.text(st.slider("slider", 1, 6, 3, key="slider", bind="query-params"))


@pytest.mark.parametrize("number", ["inf", "-inf", "Infinity", "1e999", "nan", "9" * 400])
def test_a_number_that_is_not_finite_gives_the_default(number: str) -> None:
    app = AppTest.from_function(page)
    for name in ("whole", "real", "slider"):
        app.query_params[name] = number
    app.run()
    assert not app.exception
    assert [text.value for text in app.text] == ["4", "1.0", "3"]
    assert not {"whole", "real", "slider"} & set(app.query_params)


def test_the_values_of_a_visit_are_what_streamlit_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)
    patches.apply()
    visit = SafeSessionState(SessionState(), lambda: None)
    visit["a"], visit["b"] = 1, None
    assert dict(visit.filtered_state) == visit._state.filtered_state == {"a": 1, "b": None}
    assert len(visit.filtered_state) == 2
    assert "a" in visit.filtered_state
    assert "c" not in visit.filtered_state


def test_a_visit_keeps_only_its_last_files() -> None:
    patches.apply()
    manager = MemoryUploadedFileManager("/upload")
    for number in range(11):
        manager.add_file("visit", UploadedFileRec(str(number), "name", "text/plain", b"x" * 7))
    manager.add_file("visit", UploadedFileRec("10", "name", "text/plain", b"x" * 5))
    assert list(manager.file_storage["visit"]) == [str(number) for number in range(3, 11)]
    assert manager._total_bytes == 7 * 7 + 5
