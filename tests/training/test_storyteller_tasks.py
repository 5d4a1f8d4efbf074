"""What a storyteller is asked: held-out combinations, and words that the grammar can say."""

import re

import pytest

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import VOCABULARY
from tests.trained.storyteller.test_grammar import NAMES, SINGULAR
from training.storyteller_tasks import TASKS, items


def test_what_is_asked_was_held_out() -> None:
    for item in items("agreement"):
        one, two = (SINGULAR[word] for word in item.words if word in SINGULAR)
        assert grammar.is_held_out("nouns", (one, two))
    for task in ("indirect object", "indirect object, lead-in", "pronoun"):
        for item in items(task):
            one, two = {word for word in item.words if word in NAMES}
            assert grammar.is_held_out("names", (one, two))
    for item in items("place, 3 facts"):
        found = re.findall(r"put the (\w+) in the (\w+) \.", " ".join(item.words))
        assert len(found) == 3
        assert all(grammar.is_held_out("contained", pair) for pair in found)


@pytest.mark.parametrize("task", TASKS)
def test_the_right_word_is_one_that_the_grammar_can_say(task: str) -> None:
    for item in items(task, 50):
        assert VOCABULARY.ids([*item.words, item.right, *item.choices])
        if task.startswith("indirect"):
            giver = item.words[-5]  # as in "John gave a book to"
            assert {giver, item.right} == {*item.words} & NAMES
