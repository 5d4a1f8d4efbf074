"""The page on models that see: its numbers are the model's, and a link chooses no more than there is."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app import caches
from attnviz.app.pictures import seeing
from attnviz.app.pictures.samples import SAMPLES, SIDE, sample
from attnviz.app.pictures.saving import npz_of
from attnviz.capture import loading
from attnviz.models import allowed
from attnviz.trace import Trace
from tests.app.conftest import APP, Visit
from tests.app.shown import clean, sent, visit, words
from tests.capture.tiny import tiny

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small model that sees three rows of five patches."""
    return str(tiny("vit", tmp_path_factory.mktemp("models") / "vit"))


@pytest.fixture(autouse=True)
def nobody_was_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without an operator's list, on which nothing was opened yet."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})


@pytest.fixture
def pictures(folder: str) -> Open:
    """Opens the page by a link, on a server where the model is open."""
    loading.open_model(folder)

    def open_link(**parameters: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=120)
        app.switch_page("pages/pictures.py")
        for name, value in parameters.items():
            app.query_params[name] = value
        return app.run()

    return open_link


def look(folder: str, name: str) -> Trace:
    return loading.look(folder, seeing.drawn(name), name)


def test_a_model_whose_folder_has_changed_looks_anew(tmp_path: Path) -> None:
    model = str(tiny("vit", tmp_path / "vit"))
    before = seeing.weights(model, "boat", seeing.drawn("boat"))
    assert seeing.weights(model, "boat", seeing.drawn("boat")) is before
    file = tmp_path / "vit" / "model.safetensors"
    save_file({name: -array for name, array in load_file(file).items()}, file, {"format": "pt"})
    caches.look_again()  # as half a minute does
    after = seeing.weights(model, "boat", seeing.drawn("boat"))
    np.testing.assert_array_equal(after, look(model, "boat").stack("encoder"))
    assert not np.array_equal(before, after)


def test_without_a_model_that_sees_the_page_says_how_to_open_one() -> None:
    app = visit("explore").switch_page("pages/pictures.py").run()
    assert "No model on this server sees pictures" in words(app)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_shown_with_the_models_own_numbers(pictures: Open, folder: str, name: str) -> None:
    app = pictures(picture=name, layer="2", head="3", patch="row 3, column 4")
    clean(app)
    token = 1 + 2 * 5 + 3
    row = look(folder, name).block("encoder", 1).weights[2, token]
    message = sent(app, "patches")
    assert (message["rows"], message["columns"], message["query"]) == (3, 5, token)
    assert (message["layer"], message["head"], message["heads"]) == (2, 3, 3)
    strongest = int(row.argmax())
    place = f"row {(strongest - 1) // 5 + 1}, column {(strongest - 1) % 5 + 1}" if strongest else "\\[CLS\\]"
    assert f"*{place}* **{100 * row[strongest]:.1f} %**" in words(app)


def test_the_atlas_says_where_the_patch_looks_in_every_head(pictures: Open, folder: str) -> None:
    app = pictures(patch="[CLS]")
    clean(app)
    weights = look(folder, "boat").stack("encoder")[:, :, 0]
    facts = sent(app, "atlas")["facts"]
    assert len(facts) == 6
    for fact, row in zip(facts, weights.reshape(6, -1), strict=True):
        assert f"({100 * row.max():.1f} %)" in fact


def test_what_a_link_cannot_choose_is_told(pictures: Open) -> None:
    app = pictures(picture="<b>", layer="99", patch="row 9, column 9")
    clean(app)
    assert sent(app, "patches")["query"] == 1 + 1 * 5 + 2
    told = "\n".join(warning.value for warning in app.warning)
    assert all(name in told for name in ("picture", "layer", "patch"))


def test_a_model_that_sees_is_no_choice_for_texts_and_the_other_way_round(
    pictures: Open, folder: str
) -> None:
    app = pictures(model=folder)
    clean(app)
    assert app.selectbox(key="model").options == [folder]
    clean(app.switch_page("pages/explore.py").run())
    assert app.selectbox(key="model").value == "minilm"
    assert folder not in app.selectbox(key="model").options
    clean(app.switch_page("pages/pictures.py").run())
    assert app.selectbox(key="model").value == folder


def test_explore_sends_a_link_with_a_model_that_sees_to_this_page(pictures: Open, folder: str) -> None:
    clean(pictures())
    app = visit("explore", model=folder)
    [there] = [link.proto for link in app.get("page_link") if "sees pictures" in link.proto.label]
    assert there.page == "pictures"
    assert there.query_string == urlencode({"model": folder})


def test_a_link_to_a_picture_of_ones_own_says_that_it_is_not_in_the_link(pictures: Open) -> None:
    app = pictures(picture="your own", layer="2", head="3", patch="row 3, column 4")
    clean(app)
    assert "The picture is not in the link" in app.info[0].value
    assert [box.value for box in app.number_input] == [2, 3]
    assert app.selectbox(key="patch").value == "row 3, column 4"


def test_the_link_names_the_model(pictures: Open, folder: str, tmp_path: Path) -> None:
    other = str(tiny("vit", tmp_path / "another"))
    loading.open_model(other)
    for name in (folder, other):
        app = pictures(model=name)
        clean(app)
        message = sent(app, "copy_link")
        assert message["always"] == ["model"]
        assert urlencode({"model": name}) in message["query"]


def test_a_server_may_offer_nothing_but_a_model_that_sees(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(allowed.SETTING, f"Seer={folder}")
    app = visit("explore")
    assert not app.exception
    assert "No model on this server can read texts" in app.error[0].value
    clean(app.switch_page("pages/pictures.py").run())
    assert app.selectbox(key="model").options == ["Seer"]
    assert folder not in words(app)


def test_the_file_holds_the_numbers_of_the_picture(pictures: Open, folder: str, tmp_path: Path) -> None:
    app = pictures()
    clean(app)
    assert [button.proto.label for button in app.get("download_button")] == ["All heads (NPZ)"]
    trace = look(folder, "boat")
    (tmp_path / "boat.npz").write_bytes(npz_of(trace))
    again = attnviz.Trace.load(tmp_path / "boat.npz")
    np.testing.assert_array_equal(again.stack("encoder"), trace.stack("encoder"))


def test_the_samples_are_pictures() -> None:
    for name in SAMPLES:
        picture = sample(name)
        assert picture.shape == (SIDE, SIDE, 3)
        assert picture.dtype == np.uint8
        assert not picture.flags.writeable
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 2
