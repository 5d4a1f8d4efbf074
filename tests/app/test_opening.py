"""Inspecting, opening and selecting models, also on a public server and by link."""

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
    explained_weights,
    open_page,
    page_text,
    press,
    visit,
    wait_until,
    warnings,
)
from tests.capture.tiny import tiny
from tests.models.fake_hub import go_online, serving


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three small models and an empty folder."""
    folder = tmp_path_factory.mktemp("models")
    for family in ("bert", "bart", "mamba"):
        tiny(family, folder / family)
    (folder / "nothing").mkdir()
    return folder


@pytest.fixture(autouse=True)
def no_opened_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without an operator's list and without opened models."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
    monkeypatch.setattr(loading, "_models", type(loading._models)())


def inspect(name: str | Path) -> AppTest:
    """Type a name on the Models page, and press Inspect."""
    app = open_page("models")
    app.text_input(key="own").set_value(str(name))
    return press(app, "Inspect")


def page_links(app: AppTest) -> str:
    return "\n".join(link.proto.label for link in app.get("page_link"))


def test_model_is_inspected_opened_and_explored(saved: Path) -> None:
    name = str(saved / "bert")
    app = clean(inspect(name))
    assert "2 layers × 3 heads" in page_text(app)
    assert "predicts masked tokens" in page_text(app)
    assert not loading.is_loaded(name)
    assert name not in allowed.names()
    press(app, "Open")
    wait_until(lambda: loading.is_loaded(name) and name in allowed.names())
    clean(app.run())
    link = {"model": name, "text": "The old dog saw a fish .", "layer": "2", "head": "3", "query": "4 dog"}
    app = visit("explore", link)
    assert app.selectbox(key="model").value == name
    exact = attnviz.trace(link["text"], model=name).block("encoder", 1).weights[2, 3]
    assert explained_weights(app) == [percent(float(exact.max()), 1)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mamba", "state-space"),
        ("nothing", "has no config"),
        ("not there", "There is no folder"),
        ("word " * 400, "1,999 characters; at most 1,000"),
    ],
)
def test_refused_model_is_reported_and_its_name_kept(saved: Path, name: str, message: str) -> None:
    typed = name if name.startswith("word") else str(saved / name)
    app = inspect(typed)
    [error] = app.error
    assert message in error.value
    assert "Open" not in buttons(app)
    assert app.text_input(key="own").value == typed


def test_hub_model_is_requested_only_after_inspect_and_downloaded_after_open(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "some-one/small@v1"
    with serving(folders={"some-one/small": saved / "bart"}) as hub:
        go_online(hub, tmp_path, monkeypatch)
        app = visit("explore", model=name)
        assert "Open `some-one/small@v1` on this server …" in page_links(app)
        assert hub.requests == []
        app = clean(inspect(name))
        text = page_text(app)
        assert "3 + 2 layers × 3 heads" in text
        assert "to be downloaded from Hugging Face" in text
        assert not list(tmp_path.rglob("*.safetensors"))
        press(app, "Open")
        wait_until(lambda: name in allowed.names())
        clean(app.run())
        assert "Open" not in buttons(app)
        assert name in page_text(app)
    app = visit("explore", model=name, text="The old dog saw a fish .", kind="cross")
    assert app.selectbox(key="model").value == name


LINKED_NAMES = ["../../etc", "some/id", "x" * 10_000, "**bold** `code` <script>alert(1)</script>", "\0"]


@pytest.mark.parametrize("name", LINKED_NAMES, ids=lambda name: name[:12])
def test_link_never_makes_the_server_inspect_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inspected: list[str] = []
    entry = resolve.entry

    def record(name: str) -> Entry:
        inspected.append(name)
        return entry(name)

    monkeypatch.setattr(resolve, "entry", record)
    app = visit("explore", model=name)
    assert app.selectbox(key="model").value == allowed.names()[0]
    assert "model" in warnings(app)
    assert ("on this server" in page_links(app)) == (bool(name.strip()) and len(name) < 99)
    assert name not in inspected
    app.switch_page("pages/models.py").run()
    app.query_params["own"] = name
    clean(app.run())
    assert name not in inspected


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch, saved: Path) -> str:
    """Allow only a bundled model and a folder, as on a public server; return the folder's shown name."""
    monkeypatch.setenv(allowed.SETTING, f"minilm, {saved / 'bart'}")
    return "bart"


def test_public_server_offers_only_its_list_and_hides_folders(listed: str, saved: Path) -> None:
    app = visit("explore", model=listed, text="The old dog saw a fish .", kind="cross")
    assert app.selectbox(key="model").options == ["minilm", listed]
    clean(app.switch_page("pages/models.py").run())
    assert not app.text_input
    text = page_text(app)
    assert "3 + 2 layers × 3 heads" in text
    assert str(saved) not in text
