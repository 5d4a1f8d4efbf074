"""Spend your own 100 %: what two rows of shares have in common, and what the page makes of it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app.learn.spending import MOST_WORDS, overlap
from tests.app.shown import visit, words

SPENT = "0-70-0-0-0-0-30-0-0-0-0-0-0"
ROWS = arrays(np.float32, 7, elements=st.floats(0.0625, 1, width=32)).map(lambda row: row / row.sum())


def table(app: AppTest) -> pd.DataFrame:
    [found] = [frame.value for frame in app.dataframe if "you, %" in frame.value]
    return found


def test_the_overlap_by_hand() -> None:
    assert overlap(np.array([0.5, 0.5, 0], np.float32), np.array([0.25, 0.25, 0.5], np.float32)) == 0.5
    assert overlap(np.array([1, 0], np.float32), np.array([0, 1], np.float32)) == 0


@given(ROWS, ROWS)
def test_what_is_not_common_is_the_total_variation(
    one: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    other: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> None:
    assert overlap(one, other) == pytest.approx(1 - np.abs(one - other).sum() / 2)
    assert overlap(one, one) == pytest.approx(1)


def test_the_heads_own_row_comes_when_all_is_spent_and_not_before() -> None:
    app = visit("many_heads", spent=SPENT.replace("70", "69"))
    assert list(table(app)) == ["token", "you, %"]
    assert "agree on" not in words(app)
    app = visit("many_heads", spent=SPENT)
    row = attnviz.trace("The dog did not cross the road as it was too tired.").stack("encoder")[3, 1, 9, 1:-1]
    row = row / row.sum()
    assert table(app)["head 4-2, %"].tolist() == pytest.approx((100 * row).tolist(), abs=1e-4)
    mine = np.array([int(share) for share in SPENT.split("-")], np.float32) / np.float32(100)
    assert f"You and the head agree on {100 * overlap(mine, row):.0f} %" in words(app)


@pytest.mark.parametrize("spent", ["1-2-3", "rubbish", SPENT.replace("70", "71"), SPENT.replace("70", "-5")])
def test_a_link_that_spends_what_there_is_not_spends_nothing(spent: str) -> None:
    app = visit("many_heads", spent=spent)
    assert table(app)["you, %"].tolist() == [0] * 13


def test_a_sentence_with_too_many_words_is_not_cut_but_refused() -> None:
    app = visit("many_heads", text="dog " * (MOST_WORDS + 1))
    assert any(f"Shorten it to {MOST_WORDS}" in info.value for info in app.info)
