"""What changes between two sentences, as the page tells it."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app.examples import EXAMPLES, OPENING
from tests.app.shown import (
    FOLDED,
    all_sent,
    clean,
    facts,
    labels,
    press,
    row_of_buttons,
    sent,
    visit,
    words,
)

LONGER = "The old dog did not cross the road as it was too tired."


def stack(text: str, model: str = "minilm") -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return attnviz.trace(text, model=model).stack("encoder")


def matrices(app: AppTest) -> tuple[list[str], list[str]]:
    """What the rows are called, and which of them only one side has."""
    rows = labels(sent(app, "head_view")["query_tokens"])
    return rows, [row for row in rows if row.startswith(("+ ", "− "))]


def assert_moved(app: AppTest, changes: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    """The map shows the mean total variation of all rows."""
    moved = changes.sum(axis=-1).mean(axis=-1) / 2
    np.testing.assert_allclose(sent(app, "head_map")["values"], moved.ravel(), rtol=1e-4)


def test_the_page_opens_with_the_pronoun_that_changes_sides() -> None:
    app = visit("compare")
    first, second = stack(OPENING.text), stack(OPENING.other)
    moved = np.abs(second - first).sum(axis=-1).mean(axis=-1) / 2
    np.testing.assert_allclose(sent(app, "head_map")["values"], moved.ravel(), rtol=1e-4)
    assert moved.argmax() == 3 * 12 + 1
    it, dog, road = 9, 2, 7
    less, more = (round(abs(100 * float((second - first)[3, 1, it, key]))) for key in (dog, road))
    told = words(app)
    assert f"Of 72 heads, **4-2** changes **most**: {100 * moved[3, 1]:.0f} % of its weight" in told
    assert f"`dog` **{less} percentage points less** and `road` **{more} percentage points more**" in told
    assert matrices(app)[0][12] == "tired → narrow"
    assert facts(app, "difference pixels")["high"] == pytest.approx([np.abs(second - first).max()])


def test_a_word_more_is_a_gap_and_takes_weight() -> None:
    app = visit("compare", FOLDED, text=OPENING.text, other=LONGER)
    assert matrices(app)[1] == ["+ old"]
    first, second, old = stack(OPENING.text), stack(LONGER), 2
    there = [at for at in range(16) if at != old]
    union = np.insert(first, old, 0, axis=-1)
    assert_moved(app, np.abs(second[:, :, there] - union))


def test_examples_and_swapping_change_both_texts() -> None:
    app = visit("compare", FOLDED)
    clean(row_of_buttons(app, "example").set_value(EXAMPLES[3].name).run())
    assert app.text_input(key="text").value == EXAMPLES[3].text
    clean(press(app, "Swap the two"))
    assert app.text_input(key="text").value == EXAMPLES[3].other
    assert app.text_input(key="other").value == EXAMPLES[3].text
    assert row_of_buttons(app, "example").value == EXAMPLES[3].name


def test_what_cannot_be_compared_gets_a_kind_word() -> None:
    app = visit("compare")
    for other, told in (
        ("", "Type a second sentence"),
        (OPENING.text, "sentences are the same"),
        ("Cats sleep", "are in the other in the same order"),
        ("so " * 1000, "This text has"),
    ):
        app.text_input(key="other").set_value(other).run()
        assert not app.exception
        assert told in " ".join(element.value for element in [*app.info, *app.error])
        assert [app.text_input(key=key).value for key in ("text", "other")] == [OPENING.text, other]
        assert not all_sent(app, "head_map") + all_sent(app, "head_view")
