"""Every tool reads the stories of our language models, and helps with a sentence that they cannot read."""

import pytest

from attnviz.capture import loading
from attnviz.trained.storyteller.sizes import SIZES
from tests.app.shown import press, try_page, visit, words

TOOLS = ("beyond_weights", "compare", "explore", "intervene")


@pytest.mark.parametrize("model", SIZES)
@pytest.mark.parametrize("page", TOOLS)
def test_every_tool_reads_stories(page: str, model: str) -> None:
    app = visit(page, model=model)
    assert not app.warning
    assert "was not measured for this model" not in words(app)  # it can read none of the sentences for that


@pytest.mark.parametrize("page", TOOLS)
def test_what_cannot_be_read_stays_until_a_sentence_is_built(page: str) -> None:
    app = try_page(page, model="storyteller", text="Marry went to the shop")
    [error] = app.error
    assert "never trained on “Marry” (nearest in spelling\\: Mary)" in error.value
    assert app.text_input(key="text").value == "Marry went to the shop"
    press(app, "Build a sentence")
    assert not app.error
    loading.tokens("storyteller", str(app.text_input(key="text").value))
