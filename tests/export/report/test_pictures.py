"""Reports of models for images and text contain the picture, its patches and the words."""

import base64
from dataclasses import replace

import numpy as np

import attnviz
from attnviz.export.report.page import report
from attnviz.trace import PNG, Patch, Token, Trace, weights_block
from tests.export.report.page_data import facts_of, numbers_of, weights_in


def patch(row: int, column: int) -> Token:
    box = (column / 2, row / 2, (column + 1) / 2, (row + 1) / 2)
    place = Patch(0, 0, row, column, box)
    return Token(f"{row + 1},{column + 1}", 4, 0, 0, None, special=False, patch=place)


WHAT = Token("what", 1, 0, 4, 0, special=False)
IS = Token("is_it", 2, 5, 10, 1, special=False)
# Models may read patches in an order other than row by row.
TOKENS = (WHAT, patch(0, 0), patch(1, 0), patch(0, 1), patch(1, 1), IS)
PICTURE = PNG + b"made up"


def picture_trace() -> Trace:
    weights = np.tril(np.ones((1, 6, 6), np.float32))
    weights /= weights.sum(axis=-1, keepdims=True)
    uniform = np.full((1, 4, 4), 0.25, np.float32)
    blocks = (
        weights_block("decoder", 0, TOKENS, TOKENS, weights),
        weights_block("vision", 0, TOKENS[1:5], TOKENS[1:5], uniform),
    )
    return Trace(model="made", text="what is_it", blocks=blocks, pictures=(PICTURE,))


def test_a_report_and_a_figure_contain_the_picture_and_the_places_of_its_patches() -> None:
    for page in (report(picture_trace()), attnviz.show(picture_trace()).page):
        [trace_data] = facts_of(page)["traces"]
        assert [kind["kind"] for kind in trace_data["kinds"]] == ["decoder"]
        [picture] = trace_data["pictures"]
        assert base64.b64decode(picture.pop("src").removeprefix("data:image/png;base64,")) == PICTURE
        numbers = numbers_of(page)[picture.pop("weights") :][:12].reshape(2, 6)  # the attention of both words
        expected = picture_trace().block("decoder").weights[0][[0, 5]][:, picture["places"]]
        assert np.array_equal(numbers, expected)
        assert picture == {
            "kind": "decoder",
            "box": [0, 0, 1, 1],
            "rows": 2,
            "columns": 2,
            "names": ["what", "is_it"],
            "places": [0, 5, 1, 3, 2, 4],
        }


def test_the_picture_shows_cross_attention_from_words_to_patches() -> None:
    words, cross_weights = (WHAT, IS), np.arange(1, 17, dtype=np.float32).reshape(2, 2, 4)
    cross_weights /= cross_weights.sum(axis=-1, keepdims=True)
    blocks = (
        weights_block("decoder", 0, words, words, np.full((2, 2, 2), 0.5, np.float32)),
        weights_block("cross", 0, words, TOKENS[1:5], cross_weights),
    )
    trace = replace(picture_trace(), blocks=blocks)
    figure_page = attnviz.show(trace, kind="cross", pool="mean").page
    for page, expected in (
        (report(trace), cross_weights),
        (figure_page, cross_weights.mean(axis=0, keepdims=True)),
    ):
        [trace_data] = facts_of(page)["traces"]
        assert trace_data["kinds"][0]["kind"] == "cross"
        [picture] = trace_data["pictures"]
        assert (picture["kind"], picture["places"]) == ("cross", [0, 1, 2, 4, 3, 5])
        numbers = numbers_of(page)[picture["weights"] :][: expected.size + 4 * len(expected)]
        numbers = numbers.reshape(len(expected), 2, 6)
        assert np.isnan(numbers[..., :2]).all()
        np.testing.assert_array_equal(numbers[..., 2:], expected[..., [0, 2, 1, 3]])


def test_a_figure_of_pooled_heads_contains_the_picture() -> None:
    two_heads = np.stack([np.eye(6), np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]]).astype(np.float32)
    trace = replace(picture_trace(), blocks=(weights_block("decoder", 0, TOKENS, TOKENS, two_heads),))
    page = attnviz.show(trace, pool="mean", hide_special=True).page
    [picture] = facts_of(page)["traces"][0]["pictures"]
    numbers = numbers_of(page)[picture["weights"] :][:12].reshape(2, 6)
    assert np.allclose(numbers, two_heads.mean(axis=0)[[0, 5]][:, picture["places"]])


def test_the_attention_of_the_vision_encoder_is_shown_without_the_text() -> None:
    page = attnviz.show(picture_trace(), kind="vision").page
    [trace_data] = facts_of(page)["traces"]
    assert ([kind["kind"] for kind in trace_data["kinds"]], trace_data["pictures"]) == (["vision"], [])
    assert np.array_equal(weights_in(page, "vision", "plain")[0], picture_trace().block("vision").weights)


def test_a_difference_has_no_picture() -> None:
    page = attnviz.show(picture_trace() - picture_trace()).page
    assert facts_of(page)["traces"][0]["pictures"] == []
