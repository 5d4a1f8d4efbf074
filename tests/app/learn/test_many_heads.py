"""The page "Why many heads?" without a browser: its sentences, tables and notices."""

import re

import numpy as np
import pytest

from attnviz.app.learn.many_heads import compute as lesson
from attnviz.app.learn.many_heads import compute
from tests.app.learn.conftest import VisitLesson
from tests.app.shown import words

TEXT = "The dog did not cross the road as it was too tired."
LONG = f"{TEXT} " * 4


def test_the_picture_is_told_in_words(visit_lesson: VisitLesson) -> None:
    told = words(visit_lesson("many_heads"))
    found = lesson.at_token(TEXT, 3, 9, 12)
    assert "In **head 2** of 12, `it` looks at `dog` :violet[**66 %**], `road` :violet[**12 %**]" in told
    share = f"{100 * found.shares[1]:+.1f} %"
    assert f":green[**{share}**] of the block's output" in told
    assert f"head {found.shares.argmax() + 1}'s, {100 * found.shares.max():+.1f} %" in told
    assert "add up to 100 %" in told
    assert "12 pieces of 32. Head 2 gets numbers 33 to 64, and nothing else." in told


def test_the_largest_head_says_so(visit_lesson: VisitLesson) -> None:
    found = lesson.at_token(TEXT, 3, 9, 12)
    told = words(visit_lesson("many_heads", head=str(found.shares.argmax() + 1)))
    assert "No head's share is larger." in told


def test_one_wide_head_has_one_row_and_says_that_it_was_not_trained(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("many_heads", heads_of_384="1", head="8")
    assert "In **head 1** of 1, `it` looks at `[CLS]`" in words(app)
    assert "cut into 1" in app.info[0].value
    assert "one piece of 384. Head 1 gets numbers 1 to 384: all of them." in words(app)
    assert app.session_state["head"] == 8  # what Explore will open
    assert not visit_lesson("many_heads").info


@pytest.mark.parametrize(("guess", "verdict"), [("Nothing more", "Yes."), ("12 times as much", "Not quite.")])
def test_the_guess_is_answered_with_the_counts(visit_lesson: VisitLesson, guess: str, verdict: str) -> None:
    app = visit_lesson("many_heads")
    app.session_state["guess_many_heads"] = guess
    app.run()
    cost = compute.costs(384, [12], tokens=15)[0]
    assert f"**{verdict}** Both have {cost.parameters:,} parameters" in words(app)
    assert f"{cost.multiply_adds:,} multiply-adds" in words(app)


def test_the_table_of_costs_differs_in_the_weights_only(visit_lesson: VisitLesson) -> None:
    cells = r"^\| (\d+) × (\d+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$"
    rows = re.findall(cells, words(visit_lesson("many_heads")), re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 3, 4, 6, 8, 12]
    assert all(int(heads) * int(size) == 384 for heads, size, *_ in rows)
    assert len({row[2:4] for row in rows}) == 1
    assert [row[4] for row in rows] == [f"{int(row[0]) * 15 * 15:,}" for row in rows]


def test_the_sizes_of_real_models_stand_side_by_side(visit_lesson: VisitLesson) -> None:
    told = words(visit_lesson("many_heads", tokens_counted="1000"))
    assert "| BERT base | 768 = 12 × 64 | 3072 = 4 × 768 | 12 |" in told
    assert "| Original transformer | 512 = 8 × 64 | 2048 = 4 × 512 | 6 |" in told
    assert "109,482,240 parameters" in told
    assert "335,141,888 parameters" in told
    base = compute.multiply_adds(1000, 768, 12, 3072)
    assert f"| BERT base | {base.attention / 1e6:,.2f} | {base.layer / 1e6:,.2f} |" in told


def test_what_a_head_is_good_at_leads_to_the_filter_on_explore(visit_lesson: VisitLesson) -> None:
    (previous,) = (habit for habit in lesson.habits(TEXT) if habit.name == "previous")
    layer, head = np.argwhere(previous.found)[0].tolist()
    app = visit_lesson("many_heads", layer=str(layer + 1), head=str(head + 1))
    assert f"**previous** ({previous.found.sum()} of 72 heads)" in words(app)
    assert f"head {layer + 1}-{head + 1} counts as **previous" in words(app)


def test_more_tokens_than_numbers_a_head_brings_the_note(visit_lesson: VisitLesson) -> None:
    assert "Brunner" not in words(visit_lesson("many_heads"))
    assert "Brunner" in words(visit_lesson("many_heads", text=LONG))


@pytest.mark.parametrize(
    "text", ["a", "😀 it", "שלום עולם", "<script>alert(1)</script>", "**it** [a](http://b) $x$ | it", LONG]
)
def test_any_text_is_read_and_stays_text(visit_lesson: VisitLesson, text: str) -> None:
    app = visit_lesson("many_heads", text=text)
    told = words(app)
    assert "add up to 100 %" in told
    assert "<script>" not in told
    assert not app.error


@pytest.mark.parametrize("text", [" ", "it " * 600])
def test_a_text_that_cannot_be_read_is_said_so(visit_lesson: VisitLesson, text: str) -> None:
    app = visit_lesson("many_heads", text=text)
    assert not app.exception
    assert len(app.error) == 1


def test_a_link_out_of_range_falls_back_and_says_so(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("many_heads", layer="99", head="0", heads_of_384="5", tokens_counted="-1")
    assert "In **head 2** of 12" in words(app)
    (notice,) = app.warning
    for name, fallback in (("layer", "4"), ("head", "2"), ("heads_of_384", "12"), ("tokens_counted", "128")):
        assert re.search(rf"`{name}` cannot be .* so it is `{fallback}`", notice.value)
