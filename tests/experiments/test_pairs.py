"""Pairs of sentences with a pronoun: the bundled pairs, their format, and errors in invalid lines."""

import pytest

from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError
from attnviz.experiments.pairs import Pair, bundled, parse

LINE = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


def referents(pair: Pair) -> list[str]:
    """Return the noun that the pronoun refers to in each sentence."""
    return [reading.word(reading.candidates[reading.right]) for reading in pair.readings]


def candidates(pair: Pair) -> list[str]:
    return [pair.readings[0].word(span) for span in pair.readings[0].candidates]


def test_sentences_of_a_bundled_pair_have_different_referents() -> None:
    for pair in bundled():
        one, other = pair.readings
        assert one.text != other.text
        assert {one.right, other.right} == {0, 1}
        for reading in pair.readings:
            assert max(span.end for span in reading.candidates) < reading.pronoun.start
            assert [reading.word(span) for span in reading.candidates] == candidates(pair)
            assert reading.word(reading.pronoun) in {"it", "he", "she", "they"}
            assert reading.text.count(reading.word(reading.deciding)) == 1


def test_example_line_is_parsed() -> None:
    [pair] = parse(f"# a remark\n\n{LINE}\n")
    assert [reading.text for reading in pair.readings] == [TIRED, NARROW]
    assert referents(pair) == ["dog", "road"]
    reading = pair.readings[1]
    assert (reading.pronoun, reading.candidates) == (Span(34, 36), (Span(4, 7), Span(26, 30)))
    assert reading.word(reading.deciding) == "narrow"


def test_words_after_the_choice_are_found_in_both_sentences() -> None:
    [pair] = parse("The [cat] {caught > cat | did not get > mouse} the [mouse], so *it* was glad.")
    assert referents(pair) == ["cat", "mouse"]
    assert [reading.word(reading.pronoun) for reading in pair.readings] == ["it", "it"]
    assert all(reading.deciding.end <= reading.pronoun.start for reading in pair.readings)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("The dog slept.", "a pair needs"),
        (LINE.replace("*it*", "* *"), "a pair needs"),
        (LINE.replace("[road]", "[road"), "a pair needs"),
        (
            "*It* was too {tired > dog | narrow > road}, so the [dog] did not cross the [road].",
            "a pair needs",
        ),
        (LINE.replace("> road", "road"), "must have two parts"),
        (LINE.replace("> road", "> street"), "“street” must be in [ ] exactly once"),
        (LINE.replace("> road", "> dog"), "both parts in { } end with"),
        (LINE.replace("narrow", "tired"), "both parts in { } begin with"),
        (LINE.replace("road", "dog"), "must be in [ ] exactly once"),
        (LINE.replace("dog", "cat"), "duplicate pair"),
    ],
)
def test_invalid_line_is_reported(line: str, message: str) -> None:
    with pytest.raises(AttnvizError, match=r"^Line 2: ") as raised:
        parse(f"{LINE.replace('dog', 'cat')}\n{line}")
    assert message in str(raised.value)


def test_text_without_pairs_is_refused() -> None:
    with pytest.raises(AttnvizError, match=r"The text has no pairs\. Write one per line, for example: The"):
        parse("# only a remark\n")
