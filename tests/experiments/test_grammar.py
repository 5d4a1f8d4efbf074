"""Grammatical relations: how they are annotated, what a head's answer is, and the best fixed distance."""

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest

from attnviz.errors import AttnvizError
from attnviz.experiments.grammar import FILE, TESTS, Annotated, Answers, answers, parse
from attnviz.experiments.scoring import Scores
from attnviz.experiments.sentences import UnusableSentence
from tests.experiments.hand_made import tokens_of, trace_of

BUNDLED = parse(FILE.read_text("utf-8"))
TEXT = "The elephant saw the old dog."
[ONE] = parse(f"{TEXT}\n  determiner the#1>elephant, the#2>dog; object dog>saw; subject elephant>saw")


def words(sentence: Annotated) -> list[tuple[str, str, str]]:
    """The relations as words."""
    return [
        (each.name, sentence.text[slice(*each.dependent)], sentence.text[slice(*each.head)])
        for each in sentence.relations
    ]


def test_the_bundled_annotations_are_possible_grammar() -> None:
    of_sort = {
        "determiner": "the a an this that these those every each some no both",
        "possessive": "my your his her its our their",
        "auxiliary": "has have had will would can could must may might should is are was were do does did",
    }
    for sentence in BUNDLED:
        for sort, dependent, head in words(sentence):
            assert dependent != head, sentence.text
            for known, these in of_sort.items():
                assert (dependent.lower() in these.split()) == (sort == known), (sentence.text, dependent)


def test_the_words_are_found_and_a_repeated_one_by_its_number() -> None:
    assert words(ONE) == [
        ("determiner", "The", "elephant"),
        ("determiner", "the", "dog"),
        ("object", "dog", "saw"),
        ("subject", "elephant", "saw"),
    ]
    assert ONE.relations[1].dependent == (17, 20)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("adverb old>dog", "“adverb” is not a relation"),
        ("object dog", "“dog” must have two words with > between them"),
        ("object cat>saw", "“cat” is not in the sentence"),
        ("determiner the>dog", "“the” occurs 2 times. Write the#1 for the first"),
        ("determiner the#3>dog", "“the#3”: “the” occurs only 2 times"),
    ],
)
def test_a_wrong_line_is_named(line: str, said: str) -> None:
    with pytest.raises(AttnvizError, match=f"^Line 3: {said}"):
        parse(f"# remark\n{TEXT}\n   {line}")


def attending(text: str, *links: dict[str, str]) -> Answers:
    """Answers of heads that attend from one token to another with .6, to themselves with .7, and to [SEP]."""
    tokens = tokens_of(text)
    names = [token.text for token in tokens]
    weights = np.zeros((len(links), len(tokens), len(tokens)), dtype=np.float32)
    for head, of_head in enumerate(links):
        for query, key in of_head.items():
            row = weights[head, names.index(query)]
            row[names.index(key)], row[names.index(query)], row[-1] = 0.6, 0.7, 1.0
    return answers(ONE, [trace_of(text, [weights])], "encoder")


def scores(name: str, *read: Answers) -> Scores:
    """The sums of one test."""
    [test] = [each for each in TESTS if each.name == name]
    return reduce(add, [Scores.of(test, number, each, [0], 1) for number, each in enumerate(read)])


def right(name: str, *read: Answers) -> list[list[float]]:
    """[layer, head], how often heads are right."""
    found: list[list[float]] = scores(name, *read).sums["score"].sum(axis=0).tolist()
    return found


def test_a_heads_answer_is_the_word_that_it_attends_to_most() -> None:
    # Its own word and special tokens have more weight, and do not count; "##ant" belongs to "eleph".
    found = attending(
        TEXT, {"The": "##ant", "the": "old", "dog": "saw", "eleph": "dog"}, {"saw": "dog", "##ant": "saw"}
    )
    assert scores("determiner to noun", found).examples == 2
    assert right("determiner to noun", found) == [[1, 0]]
    assert right("subject to verb", found) == [[0, 1]]
    assert right("object to verb", found) == [[1, 0]]
    # The other way round: which word attends most to the object? In head 2, its verb.
    assert right("verb to object", found) == [[0, 1]]
    assert right("noun to determiner", found) == [[0, 0]]
    assert scores("object to verb", found).weight[0, 0] == pytest.approx(0.6)
    unfiltered = scores("object to verb", found).unfiltered
    assert unfiltered is not None
    assert unfiltered.tolist() == [[0.0, 0.0]]  # with nothing excluded, [SEP] has the largest weight


def test_words_to_which_nothing_attends_have_no_answer() -> None:
    assert not attending(TEXT, {}).hits.any()
    # Not even where the first word, which is the largest of all that are 0, is the right one.
    to_the_first = [replace(each, head=ONE.relations[0].dependent) for each in ONE.relations[1:]]
    nothing = np.zeros((1, len(tokens_of(TEXT)), len(tokens_of(TEXT))), dtype=np.float32)
    nothing[..., -1] = 1.0
    asked = replace(ONE, relations=tuple(to_the_first))
    assert not answers(asked, [trace_of(TEXT, [nothing])], "encoder").hits.any()


def test_the_baseline_is_the_most_frequent_distance_in_words() -> None:
    found = attending(TEXT, {})
    name, baseline = scores("determiner to noun", found).baseline
    assert (name, baseline.tolist()) == ("always 1 word later", [[0.5]])
    name, baseline = scores("object to verb", found, found).baseline
    assert (name, baseline.tolist()) == ("always 3 words earlier", [[1.0]])
    assert scores("auxiliary to verb", found).baseline[0] == ""


def test_a_sentence_of_which_the_tokenizer_loses_a_word_is_left_out() -> None:
    kept = TEXT.replace("old dog", "       ")
    length = len(tokens_of(kept))
    read = trace_of(kept, [np.full((2, length, length), 1 / length, dtype=np.float32)])
    with pytest.raises(UnusableSentence, match="“dog”"):
        answers(ONE, [replace(read, text=TEXT)], "encoder")
