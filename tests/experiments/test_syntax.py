"""The grammar: how it is annotated, what a head's answer is, and the best fixed offset beside it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from attnviz.experiments.syntax import LOOKS, SORTS, Annotated, Grammar, bundled, count, measure, parse

from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.trace import Trace
from tests import reference_bert
from tests.experiments.hand_made import tokens_of, trace_of

TEXT = "The elephant saw the old dog."
[ONE] = parse(f"{TEXT}\n  determiner the#1>elephant, the#2>dog; object dog>saw; subject elephant>saw")


def words(sentence: Annotated) -> list[tuple[str, str, str]]:
    """The relations as words."""
    return [
        (each.sort, sentence.text[slice(*each.dependent)], sentence.text[slice(*each.head)])
        for each in sentence.relations
    ]


def test_every_sort_has_enough_relations_in_the_bundled_sentences() -> None:
    counted = Counter(relation.sort for sentence in bundled() for relation in sentence.relations)
    assert list(counted.keys() - SORTS) == []
    assert min(counted[sort] for sort in SORTS) >= 30
    assert 60 <= len(bundled()) <= 80
    assert len({sentence.text for sentence in bundled()}) == len(bundled())


def test_the_bundled_annotations_are_possible_grammar() -> None:
    of_sort = {
        "determiner": "the a an this that these those every each some no both",
        "possessive": "my your his her its our their",
        "auxiliary": "has have had will would can could must may might should is are was were do does did",
    }
    for sentence in bundled():
        for sort, dependent, head in words(sentence):
            assert dependent != head, sentence.text
            for known, these in of_sort.items():
                assert (dependent.lower() in these.split()) == (sort == known), (sentence.text, dependent)
        # A word depends on one other word only; each determiner and possessive is annotated.
        depends = [relation.dependent for relation in sentence.relations if relation.sort != "preposition"]
        assert len(set(depends)) == len(depends), sentence.text


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
        ("adverb old>dog", "“adverb” is none of determiner"),
        ("object dog", "“dog” must have two words with > between them"),
        ("object cat>saw", "“cat” does not stand in the sentence"),
        ("determiner the>dog", "“the” stands there 2 times. Write the#1 for the first"),
        ("determiner the#3>dog", "“the#3”: there are 2 of “the”"),
        ("determiner the#x>dog", "“the#x”: there are 2 of “the”"),
    ],
)
def test_a_wrong_line_is_named(line: str, said: str) -> None:
    with pytest.raises(AttnvizError, match=f"^Line 3: {said}"):
        parse(f"# remark\n{TEXT}\n   {line}")


def test_relations_need_a_sentence() -> None:
    with pytest.raises(AttnvizError, match=r"^Line 1: relations need a sentence above them\."):
        parse("  object dog>saw")


def looking(text: str, *looks: dict[str, str]) -> Grammar:
    """What heads find that look from one token to another with .6, at themselves with .3, and at [SEP]."""
    tokens = tokens_of(text)
    names = [token.text for token in tokens]
    weights = np.zeros((len(looks), len(tokens), len(tokens)), dtype=np.float32)
    for head, links in enumerate(looks):
        for query, key in links.items():
            row = weights[head, names.index(query)]
            row[names.index(key)], row[names.index(query)], row[-1] = 0.6, 0.7, 1.0
    return count(ONE, trace_of(text, [weights]), "encoder")


def test_a_heads_answer_is_the_word_that_it_looks_at_most() -> None:
    # Its own word and special tokens have more weight, and do not count; "##ant" belongs to "eleph".
    found = looking(
        TEXT, {"The": "##ant", "the": "old", "dog": "saw", "eleph": "dog"}, {"saw": "dog", "##ant": "saw"}
    )
    determiner, subject, obj = (SORTS.index(sort) for sort in ("determiner", "subject", "object"))
    assert found.totals[[determiner, subject, obj]].tolist() == [2, 1, 1]
    assert found.hits[0, determiner].tolist() == [[1, 0]]
    assert found.hits[0, subject].tolist() == [[0, 1]]
    assert found.hits[0, obj].tolist() == [[1, 0]]
    # Looked at from the other side: which word looks at the object most? Head 2: its verb.
    assert found.hits[1, obj].tolist() == [[0, 1]]
    assert found.hits[1, determiner].tolist() == [[0, 0]]


def test_words_at_which_nobody_looks_have_no_answer() -> None:
    assert looking(TEXT, {}).hits.sum() == 0
    # Not even where the first word, which is the largest of all that are 0, is the right one.
    to_the_first = [replace(each, head=ONE.relations[0].dependent) for each in ONE.relations[1:]]
    nothing = np.zeros((1, len(tokens_of(TEXT)), len(tokens_of(TEXT))), dtype=np.float32)
    nothing[..., -1] = 1.0
    asked = replace(ONE, relations=tuple(to_the_first))
    assert count(asked, trace_of(TEXT, [nothing]), "encoder").hits.sum() == 0


def test_the_best_offset_is_the_most_frequent_distance_in_words() -> None:
    found = looking(TEXT, {})
    determiner, obj = SORTS.index("determiner"), SORTS.index("object")
    assert found.offsets[determiner] == Counter({1: 1, 2: 1})
    assert found.best_offset(determiner) == (1, 1)
    assert found.best_offset(obj) == (-3, 1)
    assert found.best_offset(SORTS.index("auxiliary")) == (0, 0)
    assert (found + found).best_offset(obj) == (-3, 2)


@pytest.mark.parametrize(
    ("counted", "best"),
    [
        ({-5: 3, 1: 2, -1: 2}, (-5, 3)),  # the most frequent, however long
        ({-3: 2, 4: 2, 7: 2, 2: 1}, (-3, 2)),  # of several, the shortest
        ({4: 2, 2: 2, -3: 2}, (2, 2)),
        ({-1: 2, -2: 2, 1: 2}, (1, 2)),  # of the two shortest, the one behind
    ],
)
def test_of_equally_good_offsets_the_shortest_is_best(counted: dict[int, int], best: tuple[int, int]) -> None:
    hits = np.zeros((len(LOOKS), len(SORTS), 1, 1), dtype=np.int64)
    found = Grammar(1, hits, np.full(len(SORTS), 9), tuple(Counter(counted) for _ in SORTS))
    assert found.best_offset(0) == best


def test_sums_are_those_of_all_sentences_and_steps_stay_as_they_were() -> None:
    trace = loading.load("minilm").trace
    sentences = bundled()[:5]
    steps = list(measure(sentences, trace, "encoder"))
    assert [(step.done, step.found.sentences) for step in steps] == [(n, n) for n in range(1, 6)]
    parts = [count(sentence, trace(sentence.text), "encoder") for sentence in sentences]
    backwards = parts[4] + (parts[3] + (parts[2] + (parts[1] + parts[0])))
    np.testing.assert_array_equal(steps[-1].found.hits, backwards.hits)
    assert steps[-1].found.offsets == backwards.offsets
    np.testing.assert_array_equal(steps[0].found.hits, parts[0].hits)


def test_sentences_that_the_model_cannot_read_are_kept_with_the_reason() -> None:
    *_, end = measure(bundled()[:2], loading.load("translator").trace, "encoder")
    assert (end.done, end.found.sentences) == (2, 0)
    assert [unread.text for unread in end.found.unread] == [each.text for each in bundled()[:2]]
    assert end.found.ranking(0) == []


def test_a_sentence_of_which_the_tokenizer_loses_a_word_is_left_out() -> None:
    other = Annotated("The cat saw the dog.", parse("The cat saw.\n  subject cat>saw")[0].relations)

    def loses_old_dogs(text: str) -> Trace:
        kept = text.replace("old dog", "       ")
        length = len(tokens_of(kept))
        read = trace_of(kept, [np.full((2, length, length), 1 / length, dtype=np.float32)])
        return replace(read, text=text)

    steps = list(measure([ONE, other], loses_old_dogs, "encoder"))
    assert [step.found.sentences for step in steps] == [0, 1]
    [unread] = steps[-1].found.unread
    assert unread.text == TEXT
    assert unread.why == "The model’s tokenizer keeps nothing of “dog”."
    assert steps[-1].found.totals.tolist() == [int(sort == "subject") for sort in SORTS]


def test_the_bundled_bert_finds_what_transformers_own_weights_find() -> None:
    sentences = bundled()[::9]
    *_, end = measure(sentences, loading.load("minilm").trace, "encoder")
    model, tokenizer = reference_bert.model(), reference_bert.tokenizer()
    hits = np.zeros((2, len(SORTS), 6, 12), dtype=int)
    for sentence in sentences:
        given = tokenizer(sentence.text, return_tensors="pt")
        owners = given.word_ids()
        spans = [given.word_to_chars(word) for word in range(max(filter(None, owners)) + 1)]
        with torch.inference_mode():
            attentions = torch.stack(model(**given, output_attentions=True).attentions)[:, 0].double().numpy()
        into = np.array([[owner == word for owner in owners] for word in range(len(spans))], dtype=float)
        words_at = (into / into.sum(axis=1, keepdims=True)) @ attentions @ into.T
        words_at[..., range(len(spans)), range(len(spans))] = 0
        for relation in sentence.relations:
            one, other = (
                next(place for place, chars in enumerate(spans) if chars.start == span.start)
                for span in (relation.dependent, relation.head)
            )
            hits[0, SORTS.index(relation.sort)] += words_at[..., one, :].argmax(axis=-1) == other
            hits[1, SORTS.index(relation.sort)] += words_at[..., one].argmax(axis=-1) == other
    np.testing.assert_array_equal(end.found.hits, hits)
