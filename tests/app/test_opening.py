"""Choosing a model and opening one's own: what visitors see, and what no link can do."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.capture import loading
from attnviz.models import allowed, resolve
from attnviz.models.catalogue import Entry
from attnviz.text import percent
from tests.app.shown import (
    buttons,
    clean,
    press,
    try_page,
    until,
    visit,
    warnings,
    words,
    worked_weights,
)
from tests.capture.tiny import tiny
from tests.models.fake_hub import go_online, serving


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three small models, and one that has only a name."""
    folder = tmp_path_factory.mktemp("models")
    for family in ("bert", "bart", "mamba"):
        tiny(family, folder / family)
    (folder / "nothing").mkdir()
    return folder


@pytest.fixture(autouse=True)
def nobody_was_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without an operator's list, on which nothing was opened yet."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
    monkeypatch.setattr(loading, "_models", type(loading._models)())


def look(name: str | Path) -> AppTest:
    """Type a name on the page on models, and press Look."""
    app = try_page("models")
    app.text_input(key="own").set_value(str(name))
    return press(app, "Inspect")


def page_links(app: AppTest) -> str:
    return "\n".join(link.proto.label for link in app.get("page_link"))


def test_a_model_is_looked_at_opened_and_explored_with_its_own_numbers(saved: Path) -> None:
    name = str(saved / "bert")
    app = clean(look(name))
    assert "2 layers × 3 heads" in words(app)
    assert "predicts masked tokens" in words(app)
    assert not loading.ready(name)
    assert name not in allowed.names()
    press(app, "Open")
    until(lambda: loading.ready(name) and name in allowed.names())
    clean(app.run())
    link = {"model": name, "text": "The old dog saw a fish .", "layer": "2", "head": "3", "query": "4 dog"}
    app = visit("explore", link)
    assert app.selectbox(key="model").value == name
    exact = attnviz.trace(link["text"], model=name).block("encoder", 1).weights[2, 3]
    assert worked_weights(app) == [percent(float(exact.max()), 1)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mamba", "state-space"),
        ("nothing", "has no config"),
        ("not there", "There is no folder"),
        ("word " * 400, "1,999 characters; at most 1,000"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_a_sentence_and_nothing_typed_is_lost(
    saved: Path, name: str, said: str
) -> None:
    typed = name if name.startswith("word") else str(saved / name)
    app = look(typed)
    [error] = app.error
    assert said in error.value
    assert "Open" not in buttons(app)
    assert app.text_input(key="own").value == typed


def test_an_id_is_asked_for_by_no_link_looked_at_and_then_downloaded(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "some-one/small@v1"
    with serving(folders={"some-one/small": saved / "bart"}) as hub:
        go_online(hub, tmp_path, monkeypatch)
        app = visit("explore", model=name)
        assert "Open `some-one/small@v1` on this server …" in page_links(app)
        assert hub.asked == []
        app = clean(look(name))
        told = words(app)
        assert "3 + 2 layers × 3 heads" in told
        assert "are downloaded from Hugging Face" in told
        assert not list(tmp_path.rglob("*.safetensors"))
        press(app, "Open")
        until(lambda: name in allowed.names())
        clean(app.run())
        assert "Open" not in buttons(app)
        assert name in words(app)
    app = visit("explore", model=name, text="The old dog saw a fish .", kind="cross")
    assert app.selectbox(key="model").value == name


RUBBISH = ["../../etc", "some/id", "x" * 10_000, "**bold** `code` <script>alert(1)</script>", "\0"]


@pytest.mark.parametrize("name", RUBBISH, ids=lambda name: name[:12])
def test_a_link_never_makes_the_server_look_at_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    entry = resolve.entry

    def noted(name: str) -> Entry:
        looked.append(name)
        return entry(name)

    monkeypatch.setattr(resolve, "entry", noted)
    app = visit("explore", model=name)
    assert app.selectbox(key="model").value == allowed.names()[0]
    assert "model" in warnings(app)
    assert ("on this server" in page_links(app)) == (bool(name.strip()) and len(name) < 99)
    assert name not in looked
    app.switch_page("pages/models.py").run()
    app.query_params["own"] = name
    clean(app.run())
    assert name not in looked


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch, saved: Path) -> str:
    """A public server: its list has a model that comes with attnviz, and a folder by its last part."""
    monkeypatch.setenv(allowed.SETTING, f"minilm, {saved / 'bart'}")
    return "bart"


def test_visitors_of_a_public_server_choose_from_its_list_and_see_no_folder(listed: str, saved: Path) -> None:
    app = visit("explore", model=listed, text="The old dog saw a fish .", kind="cross")
    assert app.selectbox(key="model").options == ["minilm", listed]
    clean(app.switch_page("pages/models.py").run())
    assert not app.text_input
    told = words(app)
    assert "3 + 2 layers × 3 heads" in told
    assert str(saved) not in told
