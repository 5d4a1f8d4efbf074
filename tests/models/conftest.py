import pytest

from attnviz.models import allowed


@pytest.fixture(autouse=True)
def server_without_visitors(monkeypatch: pytest.MonkeyPatch) -> None:
    """No list of the operator's, and no model that a visitor has opened."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
