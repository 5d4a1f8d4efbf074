"""All tests of heads. To add one, write a module like those imported here and add its `TESTS` below."""

from __future__ import annotations

from typing import Any

from attnviz.errors import AttnvizError, quoted
from attnviz.experiments import by_rule, grammar, pronouns
from attnviz.experiments.scoring import HeadTest
from attnviz.text import joined

TESTS: dict[str, HeadTest[Any]] = {
    test.name: test for tests in (by_rule.TESTS, pronouns.TESTS, grammar.TESTS) for test in tests
}
"""Tests by name, in menu order."""


def tests_of_source(test: HeadTest[Any]) -> tuple[HeadTest[Any], ...]:
    """Return all tests with the same examples as this one, including itself; they are scored in one pass."""
    return tuple(each for each in TESTS.values() if each.source is test.source)


def find(name: str) -> tuple[HeadTest[Any], ...]:
    """Return the test of this name, or all tests of a group: "rules", "pronouns" or "grammar".

    Raises:
        AttnvizError: there is no such test or group.
    """
    if found := tuple(test for test in TESTS.values() if test.source.name == name):
        return found
    if name in TESTS:
        return (TESTS[name],)
    raise AttnvizError(f"{quoted(name)} is not a test of heads. Choose one of: {joined(list(TESTS))}.")
