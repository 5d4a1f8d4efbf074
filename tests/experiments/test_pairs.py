"""The pairs: those that come with attnviz, how they are written, and what is said of wrong lines."""

import pytest

from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError
from attnviz.experiments.pairs import Pair, bundled, parse

LINE = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


def named(pair: Pair) -> list[str]:
    """Of each sentence, what the pronoun stands for there."""
    return [reading.word(reading.candidates[reading.right]) for reading in pair.readings]


def candidates(pair: Pair) -> list[str]:
    return [pair.readings[0].word(span) for span in pair.readings[0].candidates]


def test_every_pair_is_two_sentences_of_which_each_means_another_noun() -> None:
    for pair in bundled():
        one, other = pair.readings
        assert one.text != other.text
        assert {one.right, other.right} == {0, 1}
        for reading in pair.readings:
            assert max(span.end for span in reading.candidates) < reading.pronoun.start
            assert [reading.word(span) for span in reading.candidates] == candidates(pair)
            assert reading.word(reading.pronoun) in {"it", "he", "she", "they"}
            assert reading.text.count(reading.word(reading.deciding)) == 1


def test_the_line_of_the_example_is_read() -> None:
    [pair] = parse(f"# a remark\n\n{LINE}\n")
    assert [reading.text for reading in pair.readings] == [TIRED, NARROW]
    assert named(pair) == ["dog", "road"]
    reading = pair.readings[1]
    assert (reading.pronoun, reading.candidates) == (Span(34, 36), (Span(4, 7), Span(26, 30)))
    assert reading.word(reading.deciding) == "narrow"


def test_what_stands_behind_the_choice_is_found_in_both_sentences() -> None:
    [pair] = parse("The [cat] {caught > cat | did not get > mouse} the [mouse], so *it* was glad.")
    assert named(pair) == ["cat", "mouse"]
    assert [reading.word(reading.pronoun) for reading in pair.readings] == ["it", "it"]
    assert all(reading.deciding.end <= reading.pronoun.start for reading in pair.readings)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("The dog slept.", "it needs"),
        (LINE.replace("*it*", "* *"), "it needs"),
        (LINE.replace("[road]", "[road"), "it needs"),
        ("*It* was too {tired > dog | narrow > road}, so the [dog] did not cross the [road].", "it needs"),
        (LINE.replace("> road", "road"), "must have two parts"),
        (LINE.replace("> road", "> street"), "“street” must be marked once"),
        (LINE.replace("> road", "> dog"), "in both sentences"),
        (LINE.replace("narrow", "tired"), "the same words"),
        (LINE.replace("road", "dog"), "must be marked once"),
        (LINE.replace("dog", "cat"), "duplicate pair"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(line: str, said: str) -> None:
    with pytest.raises(AttnvizError, match=r"^Line 2: ") as raised:
        parse(f"{LINE.replace('dog', 'cat')}\n{line}")
    assert said in str(raised.value)


def test_no_pairs_are_told() -> None:
    with pytest.raises(AttnvizError, match=r"The text has no pairs\. Write one per line, for example: The"):
        parse("# nothing but a remark\n")
