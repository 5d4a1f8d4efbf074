"""The page on models that see: its numbers are the model's, and a link chooses no more than there is."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import attnviz
from attnviz.app.models.images import computed
from attnviz.app.models.images.samples import SAMPLES
from attnviz.app.saving import npz_of
from attnviz.capture import loading
from attnviz.models import allowed
from attnviz.trace import Trace
from tests.app.shown import clean, page_links, sent, try_page, visit, warnings, words


@pytest.fixture
def folder(opened: Callable[[str], str]) -> str:
    """A small model that sees three rows of five patches, opened on this server."""
    return opened("vit")


def look(folder: str, name: str) -> Trace:
    return loading.look(folder, computed.drawn(name), name)


def test_every_sample_is_shown_with_the_models_own_numbers(folder: str) -> None:
    app, token = visit("images", layer="2", head="3", patch="row 3, column 4"), 1 + 2 * 5 + 3
    for name in SAMPLES:
        app.session_state["picture"] = name
        clean(app.run())
        row = look(folder, name).block("encoder", 1).weights[2, token]
        message = sent(app, "patches")
        assert (message["rows"], message["columns"], message["query"]) == (3, 5, token)
        assert (message["layer"], message["head"], message["heads"]) == (2, 3, 3)
        strongest = int(row.argmax())
        place = (
            f"row {(strongest - 1) // 5 + 1}, column {(strongest - 1) % 5 + 1}" if strongest else "\\[CLS\\]"
        )
        assert f"*{place}* **{100 * row[strongest]:.1f} %**" in words(app)


def test_the_atlas_says_where_the_patch_looks_in_every_head_and_the_file_holds_its_numbers(
    folder: str, tmp_path: Path
) -> None:
    app, trace = visit("images", patch="[CLS]"), look(folder, "boat")
    facts, weights = sent(app, "atlas")["facts"], trace.stack("encoder")
    assert len(facts) == 6
    for fact, row in zip(facts, weights[:, :, 0].reshape(6, -1), strict=True):
        assert f"({100 * row.max():.1f} %)" in fact
    assert [button.proto.label for button in app.get("download_button")] == ["All heads (NPZ)"]
    (tmp_path / "boat.npz").write_bytes(npz_of(trace))
    np.testing.assert_array_equal(attnviz.Trace.load(tmp_path / "boat.npz").stack("encoder"), weights)


@pytest.mark.usefixtures("folder")
def test_what_a_link_cannot_choose_is_told() -> None:
    app = visit("images", picture="<b>", layer="99", patch="row 9, column 9")
    assert sent(app, "patches")["query"] == 1 + 1 * 5 + 2
    assert all(name in warnings(app) for name in ("picture", "layer", "patch"))
    app = visit("images", picture="your own", layer="2", head="3", patch="row 3, column 4")
    assert "The image is not in the link" in app.info[0].value
    assert [box.value for box in app.number_input] == [2, 3]
    assert app.selectbox(key="patch").value == "row 3, column 4"


def test_a_model_that_sees_is_no_choice_for_texts_and_the_other_way_round(folder: str) -> None:
    app = visit("images", model=folder)
    assert app.selectbox(key="model").options == [folder]
    clean(app.switch_page("pages/explore.py").run())
    assert app.selectbox(key="model").value == "minilm"
    assert folder not in app.selectbox(key="model").options
    clean(app.switch_page("pages/images.py").run())
    assert app.selectbox(key="model").value == folder
    assert page_links(visit("explore", model=folder))["images"] == {"model": folder}


def test_a_server_may_offer_nothing_but_a_model_that_sees(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(allowed.SETTING, f"Seer={folder}")
    app = try_page("explore")
    assert "No model on this server can read texts" in app.error[0].value
    clean(app.switch_page("pages/images.py").run())
    assert app.selectbox(key="model").options == ["Seer"]
    assert folder not in words(app)
