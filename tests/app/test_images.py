"""The page Images: its numbers equal the model's, and invalid links are reported."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from attnviz.app.models.images import computed
from attnviz.app.models.images.samples import QUESTIONS, SAMPLES, sample
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.models import allowed
from attnviz.trace import Trace
from attnviz.trained.shapes import figures
from tests.app.shown import clean, message_to, page_links, page_text, visit, warnings
from tests.capture.tiny_vision import built


@pytest.fixture
def folder(opened: Callable[[str], str]) -> str:
    """A small model for images with three rows of five patches, opened on this server."""
    return opened("vit")


def words_of(app: AppTest) -> str:
    return page_text(app).replace("\N{NO-BREAK SPACE}", " ")


def look(folder: str, name: str) -> Trace:
    return loading.look(folder, computed.example_png(name), name)


def test_every_sample_is_shown_with_the_models_numbers(folder: str) -> None:
    app = visit("images", model=folder, layer="2", head="3", patch="row 3, column 4")
    token = 1 + 2 * 5 + 3
    for name in SAMPLES:
        app.session_state["picture"] = name
        clean(app.run())
        row = look(folder, name).block("encoder", 1).weights[2, token]
        message = message_to(app, "patches")
        assert (message["rows"], message["columns"], message["query"]) == (3, 5, token)
        assert (message["layer"], message["head"], message["heads"]) == (2, 3, 3)
        strongest = int(row.argmax())
        place = (
            f"row {(strongest - 1) // 5 + 1}, column {(strongest - 1) % 5 + 1}" if strongest else "\\[CLS\\]"
        )
        assert f"*{place}* (**{100 * row[strongest]:.1f} %**)" in words_of(app)


def test_atlas_names_the_largest_weight_of_the_patch_in_every_head(folder: str) -> None:
    app, trace = visit("images", model=folder, patch="[CLS]"), look(folder, "boat")
    facts, weights = message_to(app, "atlas")["facts"], trace.stack("encoder")
    assert len(facts) == 6
    for fact, row in zip(facts, weights[:, :, 0].reshape(6, -1), strict=True):
        assert f"({100 * row.max():.1f} %)" in fact
    assert [button.proto.label for button in app.get("download_button")] == ["All heads (NPZ)"]


def test_invalid_choices_in_a_link_are_reported(folder: str) -> None:
    app = visit("images", model=folder, picture="<b>", layer="99", patch="row 9, column 9")
    assert message_to(app, "patches")["query"] == 1 + 1 * 5 + 2
    assert all(name in warnings(app) for name in ("picture", "layer", "patch"))
    app = visit("images", model=folder, picture="your own", layer="2", head="3", patch="row 3, column 4")
    assert "The image is not in the link" in app.info[0].value
    assert [box.value for box in app.number_input] == [2, 3]
    assert app.selectbox(key="patch").value == "row 3, column 4"


def test_vision_models_are_offered_only_on_images_and_text_models_elsewhere(folder: str) -> None:
    app = visit("images", model=folder)
    assert app.selectbox(key="model").options == ["shapes", folder]
    clean(app.switch_page("pages/explore.py").run())
    assert app.selectbox(key="model").value == "minilm"
    assert folder not in app.selectbox(key="model").options
    clean(app.switch_page("pages/images.py").run())
    assert app.selectbox(key="model").value == folder
    assert page_links(visit("explore", model=folder))["images"] == {"model": folder}


# Images with texts


def read(name: str, text: str) -> Trace:
    model_input = ModelInput(text, images=(Image.fromarray(sample(name)),))
    return loading.trace("shapes", model_input)


HEAD = figures.stored().by_shape.head


def words_in(trace: Trace) -> list[int]:
    """Return the positions of the tokens that are not patches."""
    return [place for place, token in enumerate(trace.tokens) if token.patch is None]


def test_page_opens_with_a_word_and_the_patch_that_it_names() -> None:
    app = visit("images")
    question = QUESTIONS["six shapes"]
    message = message_to(app, "patches")
    assert message["words"]
    assert message["names"][message["query"]] == question.keyword
    assert (message["layer"], message["head"]) == HEAD
    trace = read("six shapes", question.text)
    words = words_in(trace)
    row = trace.block("decoder", HEAD[0] - 1).weights[HEAD[1] - 1, words[message["query"]]]
    strongest = trace.tokens[int(row.argmax())].patch
    assert strongest is not None
    assert (strongest.row, strongest.column) == (question.target.row, question.target.column)
    assert (
        f"*row {question.target.row + 1}, column {question.target.column + 1}* (**{100 * row.max():.1f} %**)"
        in words_of(app)
    )
    assert f"**{question.answer}**" in words_of(app)


def test_patch_shows_the_words_that_attend_to_it_in_the_mean_over_heads() -> None:
    trace = read("six shapes", QUESTIONS["six shapes"].text)
    words, place = words_in(trace), [token.text for token in trace.tokens].index("5,2")
    app = visit("images", patch="row 5, column 2", layer="2", mean="true")
    column = trace.block("decoder", 1).weights[:, :, place].mean(axis=0)
    message = message_to(app, "patches")
    assert (message["heads"], message["query"]) == (1, len(words) + 4 * 5 + 1)
    best = int(column.argmax())
    assert f"**{100 * column[best]:.1f} %**" in words_of(app)
    assert "Largest weights on *row 5, column 2* in the mean over the heads of layer 2:" in words_of(app)


def test_new_text_or_image_selects_the_last_word_and_its_head() -> None:
    app = clean(visit("images", patch="row 5, column 2"))
    assert app.selectbox(key="patch").value == "row 5, column 2"
    app.text_input(key="question").set_value("what zebra is red?")
    app.run()
    assert "zebra. This model was trained on two kinds of questions" in app.error[0].value
    app.text_input(key="question").set_value("which shape is red?")
    clean(app.run())
    message = message_to(app, "patches")
    assert message["names"][message["query"]] == "red"
    assert (message["layer"], message["head"]) == figures.stored().by_colour.head
    app.selectbox(key="patch").set_value("row 1, column 1").run()
    app.session_state["picture"] = "three shapes"
    clean(app.run())
    assert app.selectbox(key="patch").value == "red"


def test_model_for_images_and_text_opens_here_and_its_link_has_no_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowed, "_opened", {})
    folder = str(tmp_path / "llava")
    for part in built("llava"):
        part.save_pretrained(folder)
    loading.open_model(folder)
    links = [link.proto for link in visit("models").get("page_link")]
    assert [link.page for link in links if link.query_string == urlencode({"model": folder})] == ["images"]
    app = visit("images", model=folder, picture="your own", patch="row 2, column 2")
    assert "The image is not in the link" in app.info[0].value
    assert "patch" not in warnings(app)


def test_cross_attention_shows_the_patches_each_word_attends_to(opened: Callable[[str], str]) -> None:
    folder = opened("trocr")
    trace = loading.trace(folder, ModelInput("", images=(Image.fromarray(sample("boat")),)))
    cross = trace.block("cross", 1)
    words = len(cross.query_tokens)
    app = clean(visit("images", model=folder, layer="2", head="3"))
    message = message_to(app, "patches")
    assert (message["words"], message["query"]) == (words, words - 1)
    assert message["names"][words:] == ["[CLS]"]
    assert (message["rows"], message["columns"]) == (4, 8)
    best = int(cross.weights[2, -1, 1:].argmax())
    assert (
        f"*row {best // 8 + 1}, column {best % 8 + 1}* (**{100 * cross.weights[2, -1, 1 + best]:.1f} %**)"
        in (words_of(app))
    )
    app.selectbox(key="patch").set_value("row 2, column 3").run()
    column = cross.weights[2, :, 1 + 8 + 2]
    assert f"**{100 * column.max():.1f} %**" in words_of(clean(app))
    assert "Largest weights on *row 2, column 3* in head 2-3:" in words_of(app)
