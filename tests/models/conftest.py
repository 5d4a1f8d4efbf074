import pytest

from attnviz.models import allowed


@pytest.fixture(autouse=True)
def no_list_or_opened_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the operator's list of models and the list of opened models."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
