"""Example sentences for each kind of model, listed in `examples.toml`."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from attnviz.app.lessons import measured
from attnviz.app.models import lookup
from attnviz.models import catalogue
from attnviz.models.catalogue import Entry


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        name: Label of its button.
        text: The sentence.
        remark: A question or remark about the attention, in Markdown.
        other: Sentence to compare with `text`, or second sentence of a pair; "" for none.
        query: The word selected initially; "" for the last word.
    """

    name: str
    text: str
    remark: str
    other: str = ""
    query: str = "it"


_GROUPS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
EXAMPLES, NEUTRAL, TRANSLATED, UNFINISHED, STORIES, TOGETHER = (
    tuple(Example(**facts) for facts in _GROUPS[group])
    for group in ("examples", "neutral", "translated", "unfinished", "stories", "together")
)


@dataclass(frozen=True)
class Introduction:
    """Initial head and examples of a model family.

    Attributes:
        head: Initial layer and head, from 1, in which "it" attends to its referent; None if none is known.
        examples: Single sentences.
        together: Sentence pairs.
    """

    head: tuple[int, int] | None
    examples: tuple[Example, ...]
    together: tuple[Example, ...] = ()


_BERT = Introduction((4, 2), EXAMPLES, TOGETHER)
_TRANSLATOR = Introduction(None, TRANSLATED)
_WRITER = Introduction(None, UNFINISHED)
_STORYTELLER = Introduction(None, STORIES)
_READER = Introduction(None, NEUTRAL, TOGETHER)

OPENING = EXAMPLES[0]


def introduction(model: Entry) -> Introduction:
    """Return a model's initial head and examples."""
    if isinstance(model.origin, catalogue.Package):
        return _BERT
    if model.engine == "translator":
        layer, head = map(int, measured.opening_head(model.name).split("-"))
        return replace(_TRANSLATOR, head=(layer, head))
    if model.engine == "storyteller":
        return _STORYTELLER
    return _WRITER if model.kinds == ("decoder",) else _READER


def examples_of(model: Entry, together: bool) -> tuple[Example, ...]:
    """Return a model's example sentences or pairs."""
    first = introduction(model)
    if together:
        return first.together
    mask = lookup.mask_token(model)
    return (*first.examples, *([_fill_in(mask)] if mask else []))


def _fill_in(mask: str) -> Example:
    return Example(
        "fill in",
        f"The capital of France is {mask}.",
        "Which word is masked, and in which heads does it attend to the country?",
        f"The capital of Italy is {mask}.",
        mask,
    )


def example_of(model: Entry, text: str, other: str, together: bool = False) -> Example | None:
    """Return the example with these texts; None if there is none.

    The order of compared sentences is ignored.
    """
    for example in examples_of(model, together):
        texts = (example.text, example.other)
        if texts == (text, other) or (not together and texts == (other, text)):
            return example
    return None
