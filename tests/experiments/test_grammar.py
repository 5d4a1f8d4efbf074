"""Grammatical relations: annotations, a head's answers, and the baseline of a fixed distance."""

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest

from attnviz.errors import AttnvizError
from attnviz.experiments.grammar import FILE, TESTS, AnnotatedSentence, Answers, answers, parse
from attnviz.experiments.scoring import Scores
from attnviz.experiments.sentences import UnusableSentence
from tests.experiments.given_traces import tokens_of, trace_of

BUNDLED = parse(FILE.read_text("utf-8"))
TEXT = "The elephant saw the old dog."
[ONE] = parse(f"{TEXT}\n  determiner the#1>elephant, the#2>dog; object dog>saw; subject elephant>saw")


def words(sentence: AnnotatedSentence) -> list[tuple[str, str, str]]:
    """Return the name, the dependent and the head of each relation."""
    return [
        (each.name, sentence.text[slice(*each.dependent)], sentence.text[slice(*each.head)])
        for each in sentence.relations
    ]


def test_bundled_annotations_are_plausible() -> None:
    words_by_relation = {
        "determiner": "the a an this that these those every each some no both",
        "possessive": "my your his her its our their",
        "auxiliary": "has have had will would can could must may might should is are was were do does did",
    }
    for sentence in BUNDLED:
        for name, dependent, head in words(sentence):
            assert dependent != head, sentence.text
            for known, word_list in words_by_relation.items():
                assert (dependent.lower() in word_list.split()) == (name == known), (sentence.text, dependent)


def test_repeated_words_are_found_by_number() -> None:
    assert words(ONE) == [
        ("determiner", "The", "elephant"),
        ("determiner", "the", "dog"),
        ("object", "dog", "saw"),
        ("subject", "elephant", "saw"),
    ]
    assert ONE.relations[1].dependent == (17, 20)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("adverb old>dog", "“adverb” is not a relation"),
        ("object dog", "“dog” must be two words with > between them"),
        ("object cat>saw", "“cat” is not in the sentence"),
        ("determiner the>dog", "“the” occurs 2 times. Write the#1 for the first"),
        ("determiner the#3>dog", "“the#3”: “the” occurs only 2 times"),
    ],
)
def test_invalid_line_is_reported(line: str, message: str) -> None:
    with pytest.raises(AttnvizError, match=f"^Line 3: {message}"):
        parse(f"# remark\n{TEXT}\n   {line}")


def answers_of_heads(text: str, *links: dict[str, str]) -> Answers:
    """Return the answers of heads with weights of 0.6 on the linked key, 0.7 on the query and 1 on [SEP]."""
    tokens = tokens_of(text)
    names = [token.text for token in tokens]
    weights = np.zeros((len(links), len(tokens), len(tokens)), dtype=np.float32)
    for head, head_links in enumerate(links):
        for query, key in head_links.items():
            row = weights[head, names.index(query)]
            row[names.index(key)], row[names.index(query)], row[-1] = 0.6, 0.7, 1.0
    return answers(ONE, [trace_of(text, [weights])], "encoder")


def scores(name: str, *results: Answers) -> Scores:
    """Return the summed scores of one test."""
    [test] = [each for each in TESTS if each.name == name]
    return reduce(add, [Scores.of(test, number, each, [0], 1) for number, each in enumerate(results)])


def num_correct(name: str, *results: Answers) -> list[list[float]]:
    """Return the number of correct answers as [layer, head]."""
    found: list[list[float]] = scores(name, *results).sums["score"].sum(axis=0).tolist()
    return found


def test_answer_of_a_head_is_its_most_attended_word() -> None:
    # The word itself and special tokens have larger weights but are excluded; "##ant" belongs to "eleph".
    found = answers_of_heads(
        TEXT, {"The": "##ant", "the": "old", "dog": "saw", "eleph": "dog"}, {"saw": "dog", "##ant": "saw"}
    )
    assert scores("determiner to noun", found).examples == 2
    assert num_correct("determiner to noun", found) == [[1, 0]]
    assert num_correct("subject to verb", found) == [[0, 1]]
    assert num_correct("object to verb", found) == [[1, 0]]
    # In reverse, the answer is the word that attends most to the object: in head 2, the verb.
    assert num_correct("verb to object", found) == [[0, 1]]
    assert num_correct("noun to determiner", found) == [[0, 0]]
    assert scores("object to verb", found).weight[0, 0] == pytest.approx(0.6)
    unfiltered = scores("object to verb", found).unfiltered
    assert unfiltered is not None
    assert unfiltered.tolist() == [[0.0, 0.0]]  # without exclusions, [SEP] has the largest weight


def test_words_without_attention_have_no_answer() -> None:
    assert not answers_of_heads(TEXT, {}).hits.any()
    # argmax of a row of zeros returns the first word, which is correct here; it must not count.
    relations = [replace(each, head=ONE.relations[0].dependent) for each in ONE.relations[1:]]
    weights = np.zeros((1, len(tokens_of(TEXT)), len(tokens_of(TEXT))), dtype=np.float32)
    weights[..., -1] = 1.0
    sentence = replace(ONE, relations=tuple(relations))
    assert not answers(sentence, [trace_of(TEXT, [weights])], "encoder").hits.any()


def test_baseline_is_the_most_frequent_distance() -> None:
    found = answers_of_heads(TEXT, {})
    name, baseline = scores("determiner to noun", found).baseline
    assert (name, baseline.tolist()) == ("always the word 1 position after it", [[0.5]])
    name, baseline = scores("object to verb", found, found).baseline
    assert (name, baseline.tolist()) == ("always the word 3 positions before it", [[1.0]])
    assert scores("auxiliary to verb", found).baseline[0] == ""


def test_sentence_with_a_missing_word_is_unusable() -> None:
    text = TEXT.replace("old dog", "       ")
    length = len(tokens_of(text))
    trace = trace_of(text, [np.full((2, length, length), 1 / length, dtype=np.float32)])
    with pytest.raises(UnusableSentence, match="“dog”"):
        answers(ONE, [replace(trace, text=TEXT)], "encoder")
