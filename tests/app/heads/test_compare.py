"""The page Compare: its numbers and texts about the difference between two sentences."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app.examples import EXAMPLES, OPENING
from tests.app.shown import (
    FOLDED,
    button_row,
    clean,
    labels,
    message_to,
    messages_to,
    page_text,
    press,
    stored_metadata,
    visit,
)

LONGER = "The old dog did not cross the road as it was too tired."


def stack(text: str, model: str = "minilm") -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return attnviz.trace(text, model=model).stack("encoder")


def row_labels(app: AppTest) -> tuple[list[str], list[str]]:
    """Return the labels of all rows, and of the rows for words in only one of the sentences."""
    rows = labels(message_to(app, "head_view")["query_tokens"])
    return rows, [row for row in rows if row.startswith(("+ ", "− "))]


def assert_changes(app: AppTest, changes: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    """Check that the map shows the total variation of each head, averaged over all rows."""
    expected = changes.sum(axis=-1).mean(axis=-1) / 2
    np.testing.assert_allclose(message_to(app, "head_map")["values"], expected.ravel(), rtol=1e-4)


def test_page_opens_with_the_pronoun_that_changes_its_noun() -> None:
    app = visit("compare")
    first, second = stack(OPENING.text), stack(OPENING.other)
    changes = np.abs(second - first).sum(axis=-1).mean(axis=-1) / 2
    np.testing.assert_allclose(message_to(app, "head_map")["values"], changes.ravel(), rtol=1e-4)
    assert changes.argmax() == 3 * 12 + 1
    it, dog, road = 9, 2, 7
    less, more = (round(abs(100 * float((second - first)[3, 1, it, key]))) for key in (dog, road))
    text = page_text(app)
    assert f"Head 4-2: total variation **{100 * changes[3, 1]:.0f} %**, **rank 1 of 72**" in text
    assert f"to `dog` **−{less} points**, to `road` **+{more} points**." in text
    assert row_labels(app)[0][12] == "tired → narrow"
    assert stored_metadata(app, "difference pixels")["high"] == pytest.approx([np.abs(second - first).max()])


def test_additional_word_is_a_gap_in_the_other_sentence() -> None:
    app = visit("compare", FOLDED, text=OPENING.text, other=LONGER)
    assert row_labels(app)[1] == ["+ old"]
    first, second, old = stack(OPENING.text), stack(LONGER), 2
    shared = [at for at in range(16) if at != old]
    union = np.insert(first, old, 0, axis=-1)
    assert_changes(app, np.abs(second[:, :, shared] - union))


def test_examples_and_swapping_change_both_texts() -> None:
    app = visit("compare", FOLDED)
    clean(button_row(app, "example").set_value(EXAMPLES[3].name).run())
    assert app.text_input(key="text").value == EXAMPLES[3].text
    clean(press(app, "Swap sentences"))
    assert app.text_input(key="text").value == EXAMPLES[3].other
    assert app.text_input(key="other").value == EXAMPLES[3].text
    assert button_row(app, "example").value == EXAMPLES[3].name


def test_invalid_second_sentence_shows_a_message_and_keeps_the_text() -> None:
    app = visit("compare")
    for other, message in (
        ("", "Type a second sentence"),
        (OPENING.text, "sentences are the same"),
        ("Cats sleep", "at least half are required"),
        ("so " * 1000, "This text has"),
    ):
        app.text_input(key="other").set_value(other).run()
        assert not app.exception
        assert message in " ".join(element.value for element in [*app.info, *app.error])
        assert [app.text_input(key=key).value for key in ("text", "other")] == [OPENING.text, other]
        assert not messages_to(app, "head_map") + messages_to(app, "head_view")
