import pytest

from attnviz.errors import ModelTooLarge, WrongSetting
from attnviz.models import limits


@pytest.mark.parametrize(
    ("setting", "most"),
    [(None, 4_000_000_000), ("", 4_000_000_000), ("0.5", 500_000_000), (" 12 ", 12 * 10**9)],
)
def test_the_operator_sets_the_limit(setting: str | None, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.SETTING, raising=False)
    if setting is not None:
        monkeypatch.setenv(limits.SETTING, setting)
    assert limits.max_bytes() == most


@pytest.mark.parametrize("setting", ["much", "-1", "0", "nan", "inf", "4 GB", "1e99"])
def test_a_setting_that_is_no_size_is_refused(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.SETTING, setting)
    with pytest.raises(WrongSetting, match="ATTNVIZ_MAX_GB should be a number of gigabytes"):
        limits.max_bytes()


def test_a_model_up_to_the_limit_may_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.SETTING, "0.028")
    limits.check(7_000_000)
    with pytest.raises(ModelTooLarge, match=limits.SETTING) as caught:
        limits.check(7_000_001)
    assert caught.value.needed == 28_000_004
    assert caught.value.limit == 28_000_000
