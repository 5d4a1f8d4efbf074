"""The pairs: those that come with attnviz, how they are written, and what is said of wrong lines."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError
from attnviz.experiments import pairs
from attnviz.experiments.pairs import Pair, SentenceOfPair, bundled, parse, read, typed

LINE = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


def named(pair: Pair) -> list[str]:
    """Of each sentence, what the pronoun stands for there."""
    return [reading.word(reading.candidates[reading.right]) for reading in pair.readings]


def test_every_pair_is_two_sentences_of_which_each_means_another_noun() -> None:
    for pair in bundled():
        check(pair)


def check(pair: Pair) -> None:
    """Whether a pair that comes with attnviz is one."""
    one, other = pair.readings
    assert one.text != other.text
    assert {one.right, other.right} == {0, 1}
    # Both nouns stand before the pronoun, so that the nearest is right in exactly one of the two.
    assert [reading.right == reading.nearest for reading in pair.readings].count(True) == 1
    for reading in pair.readings:
        assert max(span.end for span in reading.candidates) < reading.pronoun.start
        assert [reading.word(span) for span in reading.candidates] == list(pair.candidates)
        assert reading.word(reading.pronoun) in {"it", "he", "she", "they"}
        # A sentence as people write them: a capital, a stop, single spaces, none of our signs.
        assert re.fullmatch(r"[A-Z][A-Za-z ,]*[a-z]\.", reading.text)
        assert "  " not in reading.text
        assert reading.text.count(reading.word(reading.deciding)) == 1


def test_there_are_enough_pairs_and_they_are_varied() -> None:
    assert len(bundled()) >= 110
    pronouns = [pair.readings[0].word(pair.readings[0].pronoun) for pair in bundled()]
    assert {word for word in pronouns if pronouns.count(word) >= 10} == {"it", "he", "she", "they"}
    written = " ".join(pair.readings[0].text for pair in bundled())
    for connective in ("as", "because", "since", "so hard that", "when", "although", "but", "until", "While"):
        assert f" {connective} " in f" {written} ", connective
    # Where what decides stands before the pronoun, a model that looks only back can know it.
    first = [pair.readings[0] for pair in bundled()]
    assert sum(reading.deciding.end <= reading.pronoun.start for reading in first) >= 15
    # Few pairs share a noun, and none both.
    both = [pair.candidates for pair in bundled()]
    assert len(set(both)) == len(both)
    assert [pair.famous for pair in bundled()].count(True) == 2


def test_the_line_of_the_example_is_read() -> None:
    [pair] = parse(f"# a remark\n\n{LINE}\n")
    assert [reading.text for reading in pair.readings] == [TIRED, NARROW]
    assert named(pair) == ["dog", "road"]
    assert not pair.famous
    reading = pair.readings[1]
    assert (reading.pronoun, reading.candidates) == (Span(34, 36), (Span(4, 7), Span(26, 30)))
    assert reading.word(reading.deciding) == "narrow"


def test_what_stands_behind_the_choice_is_found_in_both_sentences() -> None:
    [pair] = parse("famous: The [cat] {caught > cat | did not get > mouse} the [mouse], so *it* was glad.")
    assert named(pair) == ["cat", "mouse"]
    assert [reading.word(reading.pronoun) for reading in pair.readings] == ["it", "it"]
    assert all(reading.deciding.end <= reading.pronoun.start for reading in pair.readings)
    assert pair.famous


def test_of_the_same_word_twice_one_is_named() -> None:
    [pair] = parse("The [dog] saw the other [dog] when *it* {looked up > dog#1 | barked > dog#2}.")
    assert [reading.right for reading in pair.readings] == [0, 1]
    assert pair.candidates == ("dog#1", "dog#2")


def test_the_nearest_word_is_told_by_the_distance_on_either_side() -> None:
    reading = SentenceOfPair("it a", Span(10, 12), (Span(0, 3), Span(14, 17)), 0, Span(20, 21))
    assert reading.nearest == 1
    assert SentenceOfPair("it b", Span(10, 12), (Span(6, 9), Span(20, 23)), 0, Span(30, 31)).nearest == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("The dog slept.", "Line 2: it needs two words in [ ], and has 0. For example: The [dog]"),
        (LINE.replace("*it*", "it"), "it needs one pronoun in * *, and has 0."),
        (LINE.replace("*it*", "* *"), "there is nothing between the * and its end."),
        (LINE.replace("[road]", "[road"), "it needs two words in [ ], and has 1."),
        (
            "*It* was too {tired > dog | narrow > road}, so the [dog] did not cross the [road].",
            "the pronoun must stand behind both words in [ ].",
        ),
        (f"{LINE} ]", "there is a ] without its partner."),
        (LINE.replace(" | narrow > road", ""), "“tired > dog” must have two parts with | between them"),
        (LINE.replace("> road", "road"), "must have two parts with | between them"),
        (
            LINE.replace("> road", "> street"),
            "“street” is not marked. The words in [ ] are “dog” and “road”.",
        ),
        (LINE.replace("> road", "> dog"), "the pronoun stands for “dog” in both sentences."),
        (LINE.replace("narrow", "tired"), "both sentences have the same words, “tired”."),
        (LINE.replace("road", "dog"), "“dog” is marked twice. Write dog#1 for the first one"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(line: str, said: str) -> None:
    with pytest.raises(AttnvizError, match=r"^Line 2: ") as raised:
        parse(f"{LINE.replace('dog', 'cat')}\n{line}")
    assert said in str(raised.value)


def test_many_wrong_lines_are_told_together_and_a_pair_stands_there_once() -> None:
    with pytest.raises(AttnvizError) as raised:
        parse("wrong\n" * 7)
    assert str(raised.value).count("Line") == 5
    assert str(raised.value).endswith("2 more lines cannot be read.")
    assert str(raised.value).count(pairs.EXAMPLE) == 1
    with pytest.raises(AttnvizError, match=r"^Line 3: this is the pair of line 1 again"):
        parse(f"{LINE}\n\n{LINE}")


def test_no_pairs_and_too_many_pairs_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttnvizError, match=r"There are no pairs here\. Write one a line, like this: The"):
        parse("# nothing but a remark\n")
    monkeypatch.setattr(pairs, "MOST_PAIRS", 1)
    with pytest.raises(AttnvizError, match=r"There are 2 pairs; at most 1 "):
        parse(f"{LINE}\nThe dog slept.")  # they are counted before they are read


def test_a_file_that_is_no_text_is_told_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_bytes(f"{LINE}\n".encode() + b"caf\xe9\n")
    with pytest.raises(AttnvizError, match=r"Line 2 of “pairs\.txt” is not UTF-8"):
        read(file)
    for content, said in (
        (b"%PDF-1.7\n\xe2\xe3", "is a PDF. Copy its text"),
        (LINE.encode("utf-16"), "UTF-16"),
    ):
        file.write_bytes(content)
        with pytest.raises(AttnvizError, match=said):
            read(file)
    file.write_bytes(b"\xef\xbb\xbf" + LINE.encode())
    assert named(*read(file)) == ["dog", "road"]


def test_two_typed_sentences_are_the_pair_of_the_file() -> None:
    [pair] = parse(LINE)
    one, other = pair.readings
    assert typed(TIRED, NARROW, one.pronoun, one.candidates).readings == (one, other)
    assert typed(NARROW, TIRED, one.pronoun, one.candidates[::-1]).readings == (other, one)


def test_words_behind_the_difference_are_found_again() -> None:
    text, other = (
        "As it was tired, the dog sat on the road.",
        "As it was very narrow, the dog sat on the road.",
    )
    dog, road = (Span(text.index(word), text.index(word) + len(word)) for word in ("dog", "road"))
    pair = typed(text, other, Span(3, 5), (dog, road))
    assert named(pair) == ["dog", "road"]
    assert [reading.word(reading.deciding) for reading in pair.readings] == ["tired", "very narrow"]


def test_of_a_word_that_stands_there_twice_the_chosen_one_is_taken() -> None:
    text, other = "The dog saw the dog as it sat.", "The dog saw the dog as it ran."
    pair = typed(text, other, Span(23, 25), (Span(4, 7), Span(16, 19)))
    assert [reading.right for reading in pair.readings] == [0, 1]


def test_sentences_may_differ_in_several_places() -> None:
    text, other = "Tom lent a book to Ben as he was kind.", "Tom took a book from Ben as he was kind."
    pair = typed(text, other, Span(26, 28), (Span(0, 3), Span(19, 22)))
    assert named(pair) == ["Tom", "Ben"]
    assert [reading.word(reading.deciding) for reading in pair.readings] == [
        "lent a book to",
        "took a book from",
    ]
    assert pair.readings[1].word(pair.readings[1].pronoun) == "he"


def test_a_word_that_only_one_sentence_has_decides_in_both() -> None:
    text, other = "The dog met the cat when it sat.", "The dog met the cat when it never sat."
    pair = typed(text, other, Span(25, 27), (Span(4, 7), Span(16, 19)))
    assert [reading.word(reading.deciding) for reading in pair.readings] == ["sat", "never"]


@pytest.mark.parametrize(
    ("other", "pronoun", "meant", "said"),
    [
        (TIRED, "it", ("dog", "road"), "The two sentences are the same."),
        (f"{TIRED} ", "it", ("dog", "road"), "The two sentences are the same."),
        (
            TIRED.replace(" ", "\N{NO-BREAK SPACE}\t"),
            "it",
            ("dog", "road"),
            "The two sentences are the same.",
        ),
        (NARROW, "it", ("dog", "it"), "must be three different tokens"),
        (NARROW, "it", ("dog", "tired"), "The two sentences differ in “tired”."),
        (TIRED.replace("dog", "dogs"), "it", ("dog", "road"), "The two sentences differ in “dog”."),
        ("😀 <script>", "it", ("dog", "road"), "The two sentences differ in “it”."),
    ],
)
def test_typed_sentences_that_are_no_pair_are_told(
    other: str, pronoun: str, meant: tuple[str, str], said: str
) -> None:
    def find(word: str) -> Span:
        start = TIRED.index(f" {word}") + 1
        return Span(start, start + len(word))

    with pytest.raises(AttnvizError, match=re.escape(said)):
        typed(TIRED, other, find(pronoun), (find(meant[0]), find(meant[1])))


SPACES = st.text(" \t\n\N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}", max_size=3)
ENDS = st.lists(st.sampled_from(["sat", "ran", "never", "dog", "it", "!", "狗", "é"]), max_size=4)


def spaced(words: list[str], data: st.DataObject) -> str:
    """The words with any spaces around them, at least one between two."""
    inside = [data.draw(SPACES) + " " for _ in words[1:]]
    return data.draw(SPACES) + "".join(map("".join, zip(words, [*inside, data.draw(SPACES)], strict=True)))


@given(ENDS, ENDS, st.data())
def test_typed_sentences_are_a_pair_exactly_if_their_words_differ(
    one: list[str], other: list[str], data: st.DataObject
) -> None:
    text, second = (spaced(["Dog", "met", "cat", "as", "she", *end], data) for end in (one, other))
    dog, cat, she = (Span(text.index(word), text.index(word) + len(word)) for word in ("Dog", "cat", "she"))
    if one == other:
        with pytest.raises(AttnvizError, match="The two sentences are the same"):
            typed(text, second, she, (dog, cat))
        return
    pair = typed(text, second, she, (dog, cat))
    assert named(pair) == ["Dog", "cat"]
    assert [reading.word(reading.pronoun) for reading in pair.readings] == ["she", "she"]
    for reading, sentence in zip(pair.readings, (text, second), strict=True):
        assert reading.text == sentence
        assert reading.word(reading.deciding).strip() == reading.word(reading.deciding) != ""
