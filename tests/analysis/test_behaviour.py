from dataclasses import replace
from string import ascii_lowercase

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.analysis.behaviour import Behaviour, behaviours, facts
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.rules import RULES
from attnviz.trace import Floats, Token, Trace

SIZE = 13
SEQUENCE = np.arange(SIZE)
NOT_FOR_THIS_TEXT = ("same place", "other sentence", "punctuation", "same word")
OWN_NAMES = tuple(rule.name for rule in RULES if rule.name not in NOT_FOR_THIS_TEXT)


def tokens(size: int = SIZE, special: bool = True) -> tuple[Token, ...]:
    """Return [CLS] w1 w2 … [SEP], or w0 w1 … without special tokens."""
    ends = {0: "[CLS]", size - 1: "[SEP]"} if special else {}
    return tuple(
        Token(ends[n], n, 0, 0, None, True) if n in ends else Token(f"w{n}", n, n, n + 1, n, False)
        for n in range(size)
    )


def text(size: int = SIZE) -> str:
    """Return a text of different letters, without punctuation or repeated words."""
    return ascii_lowercase[:size]


def weights_on(target: NDArray[np.int64], share: float) -> Floats:
    """Return weights: `share` on each row's target, the remaining weight uniform over the other keys."""
    size = len(target)
    weights = np.full((size, size), (1 - share) / (size - 1), dtype=np.float32)
    weights[np.arange(size), target] = share
    return weights


def one_head(weights: Floats) -> Floats:
    return weights[None, None]


def by_name(found: tuple[Behaviour, ...]) -> dict[str, Behaviour]:
    return {behaviour.name: behaviour for behaviour in found}


def satisfied_names(weights: Floats, shown: DisplayTokens) -> set[str]:
    return {behaviour.name for behaviour in behaviours(one_head(weights), shown) if behaviour.found[0, 0]}


@pytest.mark.parametrize(
    ("name", "target", "share"),
    [
        ("previous", np.maximum(SEQUENCE - 1, 0), 0.5),
        ("next", np.minimum(SEQUENCE + 1, SIZE - 1), 0.5),
        ("itself", SEQUENCE, 0.5),
        ("first", np.zeros(SIZE, dtype=int), 0.7),
        ("separator", np.full(SIZE, SIZE - 1), 0.3),
    ],
)
def test_head_with_one_behaviour_has_no_other(name: str, target: NDArray[np.int64], share: float) -> None:
    assert satisfied_names(weights_on(target, share), DisplayTokens(tokens(), text())) - {"broad"} == {name}


def test_hiding_special_tokens_does_not_change_scores(tired: Trace) -> None:
    weights, tokens = tired.stack("encoder"), tired.blocks[0].query_tokens
    visible = behaviours(weights, DisplayTokens(tokens, tired.text))
    hidden = behaviours(weights, DisplayTokens(tokens, tired.text, hide_special=True))
    for one, other in zip(visible, hidden, strict=True):
        assert np.array_equal(one.score, other.score)
        assert one.sentence == other.sentence


def test_merged_pieces_count_as_one_word() -> None:
    """Each piece attends to the previous one, so half of a two-piece word's weight is on the word itself."""
    pieces = (
        Token("[CLS]", 101, 0, 0, None, True),
        *(Token(("##b", "a")[n % 2], n, n - 1, n, (n - 1) // 2, False) for n in range(1, 11)),
        Token("[SEP]", 102, 0, 0, None, True),
    )
    weights = one_head(weights_on(np.maximum(np.arange(12) - 1, 0), 1.0))
    separate = by_name(behaviours(weights, DisplayTokens(pieces, text())))
    merged = by_name(behaviours(weights, DisplayTokens(pieces, text(), merge_words=True)))
    np.testing.assert_allclose(separate["previous"].score, 1)
    np.testing.assert_allclose(merged["previous"].score, 0.5)
    np.testing.assert_allclose(merged["itself"].score, (4 * 0.5 + 1) / 5)


def test_cross_attention_has_no_positional_behaviours() -> None:
    target, source = DisplayTokens(tokens(5), text(5)), DisplayTokens(tokens(7), text(7))
    weights = np.full((2, 3, 5, 7), 1 / 7, dtype=np.float32)
    found = by_name(behaviours(weights, target, source))
    assert tuple(found) == ("same place", "first", "separator", "focused", "broad")
    assert {name for name, behaviour in found.items() if behaviour.found.any()} == {"broad"}
    assert set(facts(weights, target, source)) == {
        "attends broadly (like uniform attention to 7 of 7 tokens)"
    }


def test_same_place_in_a_text_of_another_length() -> None:
    """Row i of 7 corresponds to key i · 12 / 6 = 2i of 13, with a tolerance of one key."""
    target, source = DisplayTokens(tokens(7), text(7)), DisplayTokens(tokens(13), text(13))
    heads = np.full((1, 3, 7, 13), 0.5 / 12, dtype=np.float32)
    for head, offset in enumerate((0, 1, 2)):
        for row in range(7):
            heads[0, head, row, abs(2 * row - offset)] = 0.5
    same = by_name(behaviours(heads, target, source))["same place"]
    # Rows 0 and 6, with only two keys within the tolerance, are special tokens and do not count.
    assert same.score[0, 0] == pytest.approx(0.5 + 2 * 0.5 / 12)
    assert same.found.tolist() == [[True, True, False]]
    assert facts(heads, target, source)[0].startswith(
        "attends near the query’s position in the other text (57 %)"
    )
    assert "other text" not in facts(heads, target, source)[2]


def test_facts_describe_each_head() -> None:
    shown = DisplayTokens(tokens(), text())
    heads = [
        weights_on(np.maximum(SEQUENCE - 1, 0), 0.87),
        weights_on(np.minimum(SEQUENCE + 1, SIZE - 1), 0.6),
        weights_on(SEQUENCE, 0.61),
        weights_on(np.zeros(SIZE, dtype=int), 0.54),
        weights_on(np.full(SIZE, 4), 0.45),
        np.full((SIZE, SIZE), 1 / SIZE, dtype=np.float32),
        weights_on((SEQUENCE * 5 + 3) % SIZE, 0.95),
    ]
    assert facts(np.stack(heads)[None], shown) == (
        "attends to the previous token (87 %)",
        "attends to the next token (60 %)",
        "attends to itself (61 %)",
        "attends to [CLS] (54 %)",
        "attends to “w4”, token 5 (45 %)",
        "attends broadly (like uniform attention to 13 of 13 tokens)",
        "attends to no fixed position (like uniform attention to 1 of 13 tokens)",
    )


def test_heads_that_attend_to_the_other_sentence_are_found() -> None:
    pair = tuple(replace(token, sentence=int(place > 6)) for place, token in enumerate(tokens()))
    shown = DisplayTokens(pair, text(), second=text())
    across = np.where(SEQUENCE > 6, 2, 9)
    found = by_name(behaviours(one_head(weights_on(across, 0.8)), shown))["other sentence"]
    assert found.found[0, 0]
    # Each of the 12 other keys has 0.2 / 12; without special tokens, the sentences have 6 and 5 tokens.
    remaining = 0.2 / 12
    expected = np.array(
        [(0.8 + 4 * remaining) / (0.8 + 10 * remaining)] * 6
        + [(0.8 + 5 * remaining) / (0.8 + 10 * remaining)] * 5
    )
    assert found.score[0, 0] == pytest.approx(expected.mean(), rel=1e-5)
    assert "other sentence" not in satisfied_names(weights_on(np.where(SEQUENCE > 6, 9, 2), 0.8), shown)
    assert "other sentence" not in satisfied_names(weights_on(SEQUENCE, 1 / SIZE), shown)
    single = behaviours(one_head(weights_on(across, 0.8)), DisplayTokens(tokens(), text()))
    assert "other sentence" not in by_name(single)
