import pytest

from attnviz.errors import WrongSetting
from attnviz.models import limits


@pytest.mark.parametrize(
    ("setting", "limit"),
    [(None, 4_000_000_000), ("", 4_000_000_000), ("0.5", 500_000_000), (" 12 ", 12 * 10**9)],
)
def test_operator_sets_the_limit(setting: str | None, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.SETTING, raising=False)
    if setting is not None:
        monkeypatch.setenv(limits.SETTING, setting)
    assert limits.max_bytes() == limit


@pytest.mark.parametrize("setting", ["much", "-1", "0", "nan", "inf", "4 GB", "1e99"])
def test_invalid_limit_is_refused(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.SETTING, setting)
    with pytest.raises(WrongSetting, match="ATTNVIZ_MAX_GB must be a number of gigabytes"):
        limits.max_bytes()
