from pathlib import Path

import pytest

from attnviz.errors import UnknownModel, WrongSetting
from attnviz.models import allowed, catalogue, resolve

LIST = "minilm, my-bert=/models/bert, /models/gpt, openai-community/gpt2, short=owner/name@v1"
NAMES = ("minilm", "my-bert", "gpt", "openai-community/gpt2", "short")


def test_without_a_list_any_model_can_be_opened() -> None:
    assert allowed.may_open()
    assert allowed.names() == catalogue.names()
    allowed.check("/anything/at/all")
    assert allowed.target("owner/name") == "owner/name"


def test_opened_models_are_listed_with_the_latest_last() -> None:
    for name in ("./one", "owner/two", "minilm", "./one"):
        allowed.remember(name)
    assert allowed.opened() == ("owner/two", "./one")
    assert allowed.names() == (*catalogue.names(), "owner/two", "./one")


def test_list_of_opened_models_is_bounded() -> None:
    for number in range(allowed.MAX_OPENED + 3):
        allowed.remember(f"./{number}")
    assert (len(allowed.opened()), allowed.opened()[0]) == (allowed.MAX_OPENED, "./3")


def test_with_a_list_only_its_models_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(allowed.SETTING, LIST)
    allowed.remember("./opened-before")
    assert not allowed.may_open()
    assert allowed.names() == NAMES
    for name in NAMES:
        allowed.check(name)
    targets = ["minilm", "/models/bert", "/models/gpt", "openai-community/gpt2", "owner/name@v1"]
    assert [allowed.target(name) for name in NAMES] == targets


def test_names_do_not_reveal_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "near" / "bert").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(allowed.SETTING, "~/secret/one,../secret/two,./three,/secret/four/,a/b/five,near/bert")
    assert allowed.names() == ("one", "two", "three", "four", "five", "bert")


@pytest.mark.parametrize("name", ["translator", "minilm-scratch"])
def test_lessons_keep_models_that_visitors_cannot_choose(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(allowed.SETTING, LIST)
    assert allowed.target(name) == name
    with pytest.raises(UnknownModel):
        allowed.check(name)


def test_without_a_list_only_local_visitors_can_open_models(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed.remember("owner/opened-by-somebody")
    monkeypatch.setattr(allowed, "_restriction", None)
    allowed.restrict(lambda: False)
    assert not allowed.may_open()
    assert allowed.names() == catalogue.names()
    for call in (allowed.check, allowed.target, resolve.entry):
        with pytest.raises(UnknownModel, match="This server offers only these models: minilm, "):
            call("owner/opened-by-somebody")
    monkeypatch.setenv(allowed.SETTING, " * ")
    assert allowed.may_open()
    allowed.check("owner/opened-by-somebody")
    assert "owner/opened-by-somebody" in allowed.names()


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (",", "lists no model"),
        ("minilm, =/secret", "Model 2"),
        ("<b>=/secret", "Model 1"),
        ("/secret/bert, /secret/two/bert", "two models"),
        ("minilm=/secret", "“minilm”"),
    ],
)
def test_error_of_a_list_hides_its_paths(setting: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(allowed.SETTING, setting)
    for call in (allowed.names, lambda: allowed.check("minilm-x")):
        with pytest.raises(WrongSetting, match=problem) as caught:
            call()
        assert "/secret" not in str(caught.value)


def test_missing_folder_is_reported_at_startup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(allowed.SETTING, f"minilm, there={tmp_path}, owner/name")
    allowed.check_setting()
    monkeypatch.setenv(allowed.SETTING, f"minilm, mine={tmp_path}/missing")
    with pytest.raises(WrongSetting, match="missing"):
        allowed.check_setting()
