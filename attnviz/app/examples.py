"""Sentences to begin with, listed in `examples.toml`, and which of them each model is shown with."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from attnviz.app.models import lookup
from attnviz.models import catalogue
from attnviz.models.catalogue import Entry
from attnviz.trained.translator.variants import GUIDED_HEAD, GUIDED_LAYER


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        name: the label of its button.
        text: the sentence.
        remark: what to look for, in Markdown.
        other: the sentence to compare it with, or to read together with it; "" for none.
        query: the word shown first; "" for the last one.
    """

    name: str
    text: str
    remark: str
    other: str = ""
    query: str = "it"


_LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
EXAMPLES, NEUTRAL, TRANSLATED, UNFINISHED, STORIES, TOGETHER = (
    tuple(Example(**facts) for facts in _LISTED[group])
    for group in ("examples", "neutral", "translated", "unfinished", "stories", "together")
)


@dataclass(frozen=True)
class Introduction:
    """What one family of models is shown with first.

    Attributes:
        head: the layer and the head that are open first, from 1, where one is known in which "it" attends to
            the noun it refers to; else None.
        examples: sentences that these models can read, each by itself.
        together: pairs that they can read in one go.
    """

    head: tuple[int, int] | None
    examples: tuple[Example, ...]
    together: tuple[Example, ...] = ()


_BERT = Introduction((4, 2), EXAMPLES, TOGETHER)
_TRANSLATOR = Introduction((GUIDED_LAYER + 1, GUIDED_HEAD + 1), TRANSLATED)
_WRITER = Introduction(None, UNFINISHED)
_STORYTELLER = Introduction(None, STORIES)
_READER = Introduction(None, NEUTRAL, TOGETHER)

OPENING = EXAMPLES[0]


def introduction(model: Entry) -> Introduction:
    """What a model is shown with first."""
    if isinstance(model.origin, catalogue.Package):
        return _BERT
    if model.engine == "translator":
        return _TRANSLATOR
    if model.engine == "storyteller":
        return _STORYTELLER
    return _WRITER if model.kinds == ("decoder",) else _READER


def examples_of(model: Entry, together: bool) -> tuple[Example, ...]:
    """What the model is shown with: sentences by themselves, or pairs that it reads together."""
    first = introduction(model)
    if together:
        return first.together
    mask = lookup.mask_token(model)
    return (*first.examples, *([_fill_in(mask)] if mask else []))


def _fill_in(mask: str) -> Example:
    return Example(
        "fill in",
        f"The capital of France is {mask}.",
        "Which word is masked, and which heads let it attend to the country?",
        f"The capital of Italy is {mask}.",
        mask,
    )


def example_of(model: Entry, text: str, other: str, together: bool = False) -> Example | None:
    """The example that these texts are; None for the visitor's own.

    Of two sentences to compare it does not matter which comes first.
    """
    for example in examples_of(model, together):
        texts = (example.text, example.other)
        if texts == (text, other) or (not together and texts == (other, text)):
            return example
    return None
