"""Sums over sentences: by hand, by laws, and against a loop that knows nothing of batches."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from attnviz.analysis.tally import (
    COLUMNS,
    NAMES,
    POINTS,
    RULES,
    Tally,
    labels,
    rows,
    tally,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnviz.trace import Floats, Mask, Token
from tests.analysis.texts import words

LAYERS, HEADS = 2, 3
WORDS = ("dog", "Dog", "cat", ",", "ran", "!")


def sentence(typed: Sequence[str], special: bool = True) -> tuple[str, tuple[Token, ...]]:
    return " ".join(typed), words(" ".join(typed), special)


def everywhere(size: int) -> Mask:
    return np.ones((size, size), dtype=np.bool_)


def backwards(size: int) -> Mask:
    return np.tri(size, dtype=np.bool_)


def near(size: int) -> Mask:
    """Backwards, and no farther than one token."""
    return np.tri(size, dtype=np.bool_) & ~np.tri(size, k=-2, dtype=np.bool_)


def counted(typed: Sequence[str], rows: Sequence[Sequence[float]], mask: Mask, special: bool = True) -> Tally:
    """One sentence, one layer, one head."""
    text, tokens = sentence(typed, special)
    return tally([text], [tokens], [np.array(rows, dtype=np.float32)[None, None]], [mask])


def means(found: Tally) -> dict[str, float]:
    """What the only head scored, rule by rule."""
    return {name: float(found.of(name).mean[0, 0]) for name in NAMES}


def baselines(found: Tally) -> dict[str, float]:
    return {name: float(found.of(name).baseline[0]) for name in NAMES}


def test_every_rule_by_hand() -> None:
    # [CLS] a , a [SEP]; without the special tokens: (1/2, 1/2, 0), (1/4, 1/4, 1/2), (1, 0, 0).
    rows = [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.1, 0.4, 0.4, 0.0, 0.1],
        [0.5, 0.1, 0.1, 0.2, 0.1],
        [0.3, 0.6, 0.0, 0.0, 0.1],
        [1.0, 0.0, 0.0, 0.0, 0.0],
    ]
    found = counted(["a", ",", "A"], rows, everywhere(5))
    expected = {
        "previous": (1 / 4 + 0) / 2,
        "next": (1 / 2 + 1 / 2) / 2,
        "itself": (1 / 2 + 1 / 4 + 0) / 3,
        "first": (0.1 + 0.5 + 0.3) / 3,
        "separator": 0.1,
        "punctuation": (1 / 2 + 1 / 4 + 0) / 3,
        "same word": (0 + 1) / 2,  # the comma has no other occurrence, and does not count
        "focused": (1 / 2 + 1 / 2 + 1) / 3,
        "broad": (1 + 1.5 + 0) / 3 / math.log2(3),
        "distance": (1 / 2 + (1 / 4 + 1 / 2) + 2) / 3,
        "far away": (1 / 2 + 3 / 4 + 2) / 3 / 2,
    }
    assert means(found) == pytest.approx(expected, abs=1e-7)
    raw = {
        "previous": (0.1 + 0.0) / 2,
        "next": (0.4 + 0.2) / 2,
        "itself": (0.4 + 0.1 + 0.0) / 3,
        "first": expected["first"],
        "separator": expected["separator"],
        "punctuation": (0.4 + 0.1 + 0.0) / 3,
        "same word": (0 + 0.6) / 2,
        "focused": (0.4 + 0.2 + 0.6) / 3,
    }
    of_all = {name: float(found.of(name).raw[0, 0]) for name in NAMES if name in raw}
    assert of_all == pytest.approx(raw, abs=1e-7)
    assert all(np.isnan(found.of(name).raw).all() for name in set(NAMES) - set(raw))
    assert float(found.of("previous").raw_baseline[0]) == pytest.approx(1 / 5)
    third = dict.fromkeys(("previous", "next", "itself", "punctuation", "same word", "focused"), 1 / 3)
    even = {**third, "first": 1 / 5, "separator": 1 / 5, "broad": 1, "distance": 8 / 9}
    assert baselines(found) == pytest.approx({**even, "far away": 4 / 9}, abs=1e-7)
    assert (int(found.sentences), int(found.tokens)) == (1, 5)
    assert (found.count == 1).all()


def test_a_score_between_two_points_counts_to_both() -> None:
    rows = np.zeros((2, 2))
    rows[:, 0], rows[:, 1] = 0.27, 0.73  # 0.27 lies 0.4 of the way from 0.25 to 0.3
    figures = counted(["a", "b"], rows.tolist(), everywhere(2), special=False).of("previous")
    assert np.flatnonzero(figures.distribution[0, 0]).tolist() == [5, 6]
    assert figures.distribution[0, 0, 5:7] == pytest.approx([0.6, 0.4], abs=1e-5)
    assert figures.points[5:7] == pytest.approx([0.25, 0.3])
    assert figures.mean[0, 0] == pytest.approx(figures.distribution[0, 0] @ figures.points, abs=1e-6)


def test_what_is_beyond_the_axis_counts_at_its_end() -> None:
    size = 41
    rows = np.zeros((size, size))
    rows[: size // 2, -1] = rows[size // 2 :, 0] = 1  # 30 tokens away on average, and the axis ends at 20
    words = [f"w{number}" for number in range(size)]
    figures = counted(words, rows.tolist(), everywhere(size), special=False).of("distance")
    assert figures.mean[0, 0] > figures.rule.most
    assert figures.distribution[0, 0, -1] == 1


@st.composite
def batch(draw: st.DrawFn) -> tuple[list[str], list[tuple[Token, ...]], list[Floats], list[Mask]]:
    """Some sentences of one length, with random weights that keep to their masks."""
    size, sentences, special = draw(st.integers(1, 7)), draw(st.integers(1, 5)), draw(st.booleans())
    chosen = st.lists(st.sampled_from(WORDS), min_size=size, max_size=size)
    texts, tokens = zip(*(sentence(draw(chosen), special) for _ in range(sentences)), strict=True)
    length = len(tokens[0])
    masks = [draw(st.sampled_from((everywhere, backwards, near)))(length) for _ in range(LAYERS)]
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = []
    for mask in masks:
        raw = random.exponential(size=(sentences, HEADS, length, length)) ** 3 * mask + mask * 1e-6
        weights.append(np.asarray(raw / raw.sum(-1, keepdims=True), dtype=np.float32))
    return list(texts), list(tokens), weights, masks


def naive(
    text: str, tokens: Sequence[Token], weights: Floats, mask: Mask, rescale: bool = True
) -> dict[str, float | None]:
    """The scores of one head in one sentence, cell by cell in Python; None where a rule means nothing."""
    places = [n for n, token in enumerate(tokens) if not token.special]
    size = len(places)
    kept = []
    for i in places:
        row = [float(weights[i, j]) for j in places]
        kept.append([cell / sum(row) for cell in row] if rescale else row)
    may = [[bool(mask[i, j]) for j in places] for i in places]
    words = [text[tokens[i].start : tokens[i].end].lower() for i in places]

    def to(cell: Callable[[int, int], bool]) -> float | None:
        chosen = [[j for j in range(size) if may[i][j] and cell(i, j)] for i in range(size)]
        rows = [sum(kept[i][j] for j in there) for i, there in enumerate(chosen) if there]
        return sum(rows) / len(rows) if rows and size > 1 else None

    def average(row: Callable[[int], float]) -> float | None:
        return sum(map(row, range(size))) / size if size > 1 else None

    possible = sum(math.log2(sum(row)) for row in may)
    bits = sum(-cell * math.log2(cell) for row in kept for cell in row if cell > 0)
    distance = average(lambda i: sum(kept[i][j] * abs(i - j) for j in range(size)))
    separators = [n for n, token in enumerate(tokens) if token.special and n > 0]
    return {
        "previous": to(lambda i, j: j == i - 1),
        "next": to(lambda i, j: j == i + 1),
        "itself": to(lambda i, j: i == j),
        "first": sum(float(weights[i, 0]) for i in places) / size,
        "separator": sum(float(weights[i, j]) for i in places for j in separators) / size
        if separators
        else None,
        "punctuation": to(lambda _, j: words[j] in ",!"),
        "same word": to(lambda i, j: i != j and words[i] == words[j] and words[i] not in ",!"),
        "focused": average(lambda i: max(kept[i])),
        "broad": bits / possible if size > 1 else None,
        "distance": distance,
        "far away": None if distance is None else distance / (size - 1),
    }


@settings(max_examples=40)
@given(batch())
def test_the_sums_are_those_of_a_loop_over_every_cell(
    read: tuple[list[str], list[tuple[Token, ...]], list[Floats], list[Mask]],
) -> None:
    texts, tokens, weights, masks = read
    found = tally(*read)
    for layer, mask in enumerate(masks):
        for head in range(HEADS):
            scores = [
                naive(t, k, weights[layer][n, head], mask)
                for n, (t, k) in enumerate(zip(texts, tokens, strict=True))
            ]
            even = [
                naive(t, k, mask / mask.sum(-1, keepdims=True), mask)
                for t, k in zip(texts, tokens, strict=True)
            ]
            for rule in RULES:
                figures = found.of(rule.name)
                own = np.array([score for each in scores if (score := each[rule.name]) is not None])
                assert figures.count[layer] == len(own)
                if not len(own):
                    assert np.isnan(figures.mean[layer]).all()
                    continue
                assert figures.mean[layer, head] == pytest.approx(own.mean(), abs=1e-5)
                assert figures.deviation[layer, head] == pytest.approx(own.std(), abs=1e-3)
                if rule.of:
                    raw = [
                        score
                        for n, (t, k) in enumerate(zip(texts, tokens, strict=True))
                        if (score := naive(t, k, weights[layer][n, head], mask, False)[rule.name]) is not None
                    ]
                    assert figures.raw[layer, head] == pytest.approx(np.mean(raw), abs=1e-5)
                evenly = [score for each in even if (score := each[rule.name]) is not None]
                assert figures.baseline[layer] == pytest.approx(np.mean(evenly), abs=1e-5)
                spread = figures.distribution[layer, head]
                assert spread.sum() == pytest.approx(1)
                assert spread @ figures.points == pytest.approx(own.clip(0, rule.most).mean(), abs=1e-4)


def same(one: Tally, other: Tally) -> None:
    """Whether all sums are equal but for the last bits."""
    for name, array in one.arrays().items():
        np.testing.assert_allclose(array, other.arrays()[name], rtol=1e-12, atol=1e-12, err_msg=name)


@settings(max_examples=25)
@given(st.lists(batch(), min_size=3, max_size=3))
def test_parts_may_be_added_in_any_order_and_grouping(
    three: list[tuple[list[str], list[tuple[Token, ...]], list[Floats], list[Mask]]],
) -> None:
    a, b, c = (tally(*each) for each in three)
    same((a + b) + c, a + (b + c))
    same(a + b, b + a)
    same(a + Tally.nothing(LAYERS, HEADS), a)


def test_sums_go_into_a_file_and_come_back() -> None:
    text, tokens = sentence(["a", "b"])
    weights: NDArray[np.float32] = np.full((1, 5, 4, 4), 0.25, dtype=np.float32)
    found = tally([text], [tokens], [weights], [everywhere(4)])
    same(Tally.from_arrays({**found.arrays(), "header": np.zeros(3)}, 1, 5), found)
    with pytest.raises(ValueError, match="1 layers of 4 heads"):
        Tally.from_arrays(found.arrays(), 1, 4)
    with pytest.raises(ValueError, match="spread is not"):
        Tally.from_arrays({**found.arrays(), "spread": found.spread.astype(np.float32)}, 1, 5)
    with pytest.raises(ValueError, match="total is not"):
        Tally.from_arrays({name: array for name, array in found.arrays().items() if name != "total"}, 1, 5)
    with pytest.raises(ValueError, match="other layers or heads"):
        found + Tally.nothing(1, 4)
    assert found.spread.shape[-1] == POINTS


def test_sentences_of_other_lengths_or_special_tokens_are_not_mixed() -> None:
    (one, its), (other, others) = sentence(["a", "b"]), sentence(["a", "b", "c", "d"], special=False)
    weights = np.full((2, 1, 4, 4), 0.25, dtype=np.float32)
    with pytest.raises(ValueError, match="in the same places"):
        tally([one, other], [its, others], [weights], [everywhere(4)])


def test_every_number_stands_in_its_row() -> None:
    sums = Tally.nothing(LAYERS, HEADS)
    rule = NAMES.index("distance")
    sums.count[rule] = 2, 4
    sums.total[rule] = [[2, 4, 6], [8, 12, 16]]
    sums.squares[rule] = [[2, 10, 18], [16, 52, 64]]  # scores of 1 and 1, of 1 and 3, of 3 and 3, …
    sums.even[rule] = 5, 6
    shares = NAMES.index("previous")
    sums.count[shares], sums.raw[shares, 0, 0], sums.raw_even[shares, 0] = 4, 2, 3
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows(sums)]
    assert [(row["layer"], row["head"]) for row in found] == [
        *((layer, head) for layer in (1, 2) for head in (1, 2, 3))
    ] * len(RULES)
    assert [row["rule"] for row in found[:: LAYERS * HEADS]] == list(NAMES)
    assert [list(row.values())[3:] for row in found if row["rule"] == "distance"] == [
        *(["tokens", 2, mean, deviation, 2.5, "", ""] for mean, deviation in ((1, 0), (2, 1), (3, 0))),
        *(["tokens", 4, mean, deviation, 1.5, "", ""] for mean, deviation in ((2, 0), (3, 2), (4, 0))),
    ]
    assert list(found[0].values())[3:] == ["share of what goes to words", 4, 0, 0, 0, 0.5, 0.75]
    others = [list(row.values()) for row in found if row["rule"] not in ("distance", "previous")]
    assert all(row[4:] == [0, "", "", "", "", ""] for row in others)


def test_by_which_rule_heads_are_named() -> None:
    # a b c, five heads: to [CLS] and, of what is left, to the token before; evenly; to [CLS]; to themselves
    # and to [CLS]; to the token after, a little more than even attention would.
    text, tokens = sentence(["dog", "cat", "ran"])
    heads = np.full((5, 5, 5), 0.2, dtype=np.float32)
    heads[0] = [0.7, 0.3, 0, 0, 0]
    heads[0, 2], heads[0, 3] = [0.7, 0.3, 0, 0, 0], [0.7, 0, 0.3, 0, 0]
    heads[2] = [0.85, 0.05, 0.05, 0.05, 0]
    heads[3] = 0.5 * np.eye(5)
    heads[3, :, 0] += 0.5
    heads[4, 1], heads[4, 2] = [0, 0.3, 0.5, 0.2, 0], [0, 0.2, 0.3, 0.5, 0]
    found = labels(tally([text], [tokens], [heads[None]], [everywhere(5)]))
    assert [[rule.name if rule else "" for rule in row] for row in found] == [
        ["previous", "", "first", "itself", ""]
    ]
