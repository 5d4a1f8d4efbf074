"""Who comes to a server with a bound on its visitors waits, and then comes in with all that was asked."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app import crowd
from attnviz.errors import WrongSetting
from tests.app.shown import APP

ME, OTHER = "test session id", "other"


def test_who_finds_no_place_waits_until_somebody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {ME, OTHER}
    monkeypatch.setenv(crowd.SETTING, "1")
    monkeypatch.setattr(crowd, "here", lambda: here)
    monkeypatch.setattr(crowd, "_inside", {OTHER})
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["text"] = "The zebra sleeps."
    app.run()
    assert not app.exception
    assert "lets in 1 at a time" in app.info[0].value
    assert not app.text_input
    here.remove(OTHER)
    app.run()
    assert not app.exception
    assert app.text_input(key="text").value == "The zebra sleeps."
    here.add(OTHER)
    app.run()
    assert app.text_input(key="text").value == "The zebra sleeps.", "who is in stays in"


def test_a_bound_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("0", "many", "-1"):
        monkeypatch.setenv(crowd.SETTING, setting)
        with pytest.raises(WrongSetting, match=r"ATTNVIZ_VISITORS=100"):
            crowd.most()
    monkeypatch.delenv(crowd.SETTING)
    assert crowd.most() is None
