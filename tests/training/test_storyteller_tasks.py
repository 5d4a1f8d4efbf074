"""What a storyteller is asked: held-out combinations, and words that the grammar can say."""

import re

from attnviz.trained.storyteller import grammar
from tests.trained.storyteller.test_grammar import NAMES, SINGULAR
from training.storyteller_tasks import items


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
