import pytest

from attnviz.models import allowed


@pytest.fixture(autouse=True)
def no_list_or_opened_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without an operator's list and without opened models."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
