"""The nearest tokens, against an independent search, and what they share, worked by hand and on noise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import experiments
from attnviz.analysis.intervals import chance_of_as_many
from attnviz.errors import AttnvizError
from attnviz.experiments.neighbours import ATTRIBUTES, Common, Search, nearest
from attnviz.experiments.text_index import IndexKey, TextIndex
from attnviz.trace import Floats

TIRED = "The dog did not cross the road as it was too tired."
WORD, SIGN = 7, 8  # rows of a vocabulary


def made(vectors: Floats, reads: np.ndarray, ids: np.ndarray, done: int | None = None) -> TextIndex:
    """An index of lines of five tokens, [CLS], three words or signs, [SEP], in one head."""
    tokens = len(ids)
    lines = tokens // 5
    halves = vectors.astype(np.float16)[None, None]
    share = np.full((1, 1, tokens), 0.25, np.float16)
    return TextIndex(
        key=IndexKey("minilm", "", "", (0,)),
        lines=tuple(map(str, range(lines))),
        starts=np.arange(0, tokens + 1, 5),
        ids=ids.astype(np.int32),
        special=np.tile([True, False, False, False, True], lines),
        classes=(ids == SIGN).astype(np.int8),
        output=halves,
        query=halves,
        key_vectors=halves,
        states=halves,
        reads=reads.astype(np.int16)[None, None],
        weight=share,
        to_special=share,
        entropy=2 * share,
        done=lines if done is None else done,
    )


@given(st.integers(0, 10_000), st.integers(1, 30), st.booleans())
def test_the_nearest_are_those_of_a_naive_search(seed: int, most: int, some: bool) -> None:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((23, 3)).astype(np.float16)
    vectors[4] = 0
    vector = random.standard_normal(3).astype(np.float32)
    among = random.random(23) < 0.5 if some else None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("attnviz.capture.cosines._BLOCK", 7)
        places, cosines = nearest(vectors, vector, most, among)
    naive = {}
    for place, each in enumerate(vectors.astype(float).tolist()):
        length = (
            sum(number**2 for number in each) ** 0.5 * sum(float(number) ** 2 for number in vector) ** 0.5
        )
        product = sum(one * float(other) for one, other in zip(each, vector, strict=True))
        if among is None or among[place]:
            naive[place] = product / length if length else 0.0
    expected = sorted(naive, key=lambda place: -naive[place])[:most]
    assert places.tolist() == expected
    np.testing.assert_allclose(cosines, [naive[place] for place in expected], atol=1e-6)


def shares() -> Search:
    """Sixty lines; the third token of each has the vector that is looked for, and reads the one before."""
    place = np.tile(np.arange(5), 60)
    vectors = np.where((place == 2)[:, None], [1.0, 0.0], [0.0, 1.0]).astype(np.float32)
    reads = np.where(place == 2, 1, 3)
    ids = np.where(place == 2, SIGN, WORD)
    return Search(made(vectors, reads, ids), 0, (0,), "query", np.array([[2, 0]], np.float32), "a sentence")


def test_what_the_neighbours_share_is_counted_on_the_other_half() -> None:
    found = {common.name: common for common in shares().common()}
    # Thirty lines are a half: 30 tokens of 150 are alike, and the 20 next ones are any of the others.
    # Of five tokens of a line two look one back: the third, and [SEP], which is a fourth of the others.
    assert found["offset"] == Common("offset", -1, 35, 50, 0.4, sure=True)
    assert found["token"] == Common("token", SIGN, 30, 50, 0.2, sure=True)
    assert found["class"] == Common("class", 1, 30, 50, 0.2, sure=True)
    assert chance_of_as_many(30, 50, 0.2, len(ATTRIBUTES)) < 0.05
    # All rows have one entropy, and no token rests on special ones: nothing stands out.
    assert not {"entropy", "special read"} & found.keys()


def test_only_lines_that_are_read_are_searched_and_never_the_sentence_itself() -> None:
    search = shares()
    assert {near.place for near in search.neighbours(most=60)} == {2}
    first = search.neighbours(most=1)[0]
    assert (first.line, first.reads, first.weight, first.to_special) == (0, 1, 0.25, 0.25)
    assert first.alike == pytest.approx(1)
    assert replace(search, text="0").neighbours(most=1)[0].line == 1
    partly = replace(search, index=replace(search.index, done=2))
    assert {near.line for near in partly.neighbours()} == {0, 1}
    assert len(partly.neighbours()) == 10
    nothing = replace(search, index=replace(search.index, done=0))
    assert (nothing.neighbours(), nothing.common()) == ([], ())


def test_of_random_vectors_nothing_is_called_a_finding() -> None:
    findings = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        ids, reads = random.zipf(1.5, 2000).clip(max=500), random.integers(1, 4, 2000)
        index = made(random.standard_normal((2000, 8)).astype(np.float32), reads, ids)
        search = Search(index, 0, (0,), "output", random.standard_normal((1, 8)).astype(np.float32), "")
        findings += any(common.sure for common in search.common())
    assert findings <= 0.05 * 60


def test_the_neighbours_of_a_head_that_reads_the_token_before_read_the_token_before() -> None:
    found = experiments.find(TIRED, place=9, layer=1, head=9)
    offsets = [near.reads - near.place for near in found.neighbours()]
    assert max(set(offsets), key=offsets.count) == -1
    assert {common.name: common.value for common in found.common()}["offset"] == -1


def test_alike_by_pattern_are_those_that_read_the_same_class_as_far_away_as_sharply() -> None:
    search = replace(shares(), by="pattern", sought=np.array([[-1, 0, 1.5]], np.float32))
    # All rows have .5 bits and rest on no special token. The third token of a line reads the one before, a
    # word; so does [SEP], the fifth; the others read the fourth, a word too, at other offsets.
    near = search.neighbours(most=200)
    assert {found.place for found in near[:120]} == {2, 4}
    assert near[0].alike == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert near[120].alike == pytest.approx((0 + 1 + 1 / 2) / 3)
    assert not {"offset", "entropy", "class read", "special read"} & set(search.attributes)
    rested = replace(search, index=replace(search.index, to_special=search.index.to_special + 0.5))
    assert rested.neighbours(most=1)[0].alike == pytest.approx((1 + 0 + 1 / 2) / 3)


def test_alike_in_several_heads_is_the_mean_over_the_heads() -> None:
    one = shares()
    twice = {
        name: np.repeat(getattr(one.index, name), 2, axis=1)
        for name in ("query", "reads", "weight", "to_special")
    }
    index = replace(one.index, **twice)  # type: ignore[arg-type]
    index.query[:, 1] = index.query[:, 1, :, ::-1]  # there, the two kinds of vectors have changed places
    both = replace(one, index=index, heads=(1, 0), sought=np.array([[3, 4], [1, 0]], np.float32))
    assert both.neighbours(most=1)[0].alike == pytest.approx((4 / 5 + 1) / 2, abs=1e-3)
    assert both.neighbours(most=300)[-1].alike == pytest.approx((3 / 5 + 0) / 2, abs=1e-3)


def test_by_hidden_state_the_same_word_in_the_same_place_is_nearest() -> None:
    """In the first layer it is the embedding: of a token, its place, and nothing of what stands around it."""
    other = "The dog does not cross."
    found = experiments.find(
        "The dog did not sleep.", place=2, layer=0, head=[3, 1], by="state", within=f"A cat.\n{other}"
    )
    [near] = found.neighbours(most=1)
    assert (near.line, near.place, found.heads) == (1, 2, (3,))
    assert near.alike > 0.9999
    with pytest.raises(AttnvizError, match="“minilm-scratch” does not tell its hidden states"):
        experiments.find("A dog.", "minilm-scratch", by="state", within="A cat.")


def test_by_pattern_a_head_that_reads_the_token_before_finds_its_own_kind() -> None:
    found = experiments.find(TIRED, place=9, layer=1, head=9, by="pattern").neighbours()
    offsets = [near.reads - near.place for near in found]
    assert offsets.count(-1) >= 0.9 * len(offsets)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"place": 15}, "There is no token 15"),
        ({"head": 12}, "The layer has 12 heads"),
        ({"layer": 6}, "“minilm” has 6 layers"),
        ({"by": "value"}, "by their output, query, key, state and pattern, not by “value”"),
        ({"within": " \n"}, "There is no sentence"),
    ],
)
def test_what_there_is_not_cannot_be_found(asked: dict[str, object], told: str) -> None:
    with pytest.raises(AttnvizError, match=told):
        experiments.find(TIRED, **{"within": "Hello.", **asked})  # type: ignore[arg-type]
