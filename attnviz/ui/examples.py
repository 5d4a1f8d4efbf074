"""Sentences to begin with; a pair differs in one word that turns the meaning of another."""

from dataclasses import dataclass

from attnviz.capture import catalogue
from attnviz.translation.variants import TAUGHT_HEAD, TAUGHT_LAYER


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        name: what its button says.
        text: the sentence.
        other: the sentence to compare it with, or "" for none.
        remark: what to look for, in Markdown.
        query: the word whose attention is shown first.
    """

    name: str
    text: str
    other: str
    remark: str
    query: str = "it"


EXAMPLES = (
    Example(
        "dog / road",
        "The dog did not cross the road as it was too tired.",
        "The dog did not cross the road as it was too narrow.",
        "One word at the end decides who *it* is. Follow *it* in head 4-2, then switch the word.",
    ),
    Example(
        "animal / street",
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
        "The sentence that made attention famous. Does head 4-2 do here what it did for the dog?",
    ),
    Example(
        "trophy / suitcase",
        "The trophy does not fit into the suitcase as it is too big.",
        "The trophy does not fit into the suitcase as it is too small.",
        "**Here head 4-2 fails:** its *it* does not change sides when *big* becomes *small*. "
        "One pair of sentences that works is an anecdote, not a proof.",
    ),
    Example(
        "bank",
        "She went to the bank to fish.",
        "She went to the bank to pay.",
        "The same word, two meanings: which heads let *bank* look at the last word?",
        "bank",
    ),
    Example(
        "keys / cabinet",
        "The keys to the old cabinet are on the table.",
        "The keys to the old cabinets are on the table.",
        "Which head ties *are* to *keys*, past the nearer *cabinet*?",
        "are",
    ),
    Example(
        "time flies",
        "Time flies like an arrow but fruit flies like a banana.",
        "",
        "*flies like* stands here twice: each occurrence is a token of its own, and looks elsewhere.",
        "flies",
    ),
)

TRANSLATED = (
    Example(
        EXAMPLES[0].name,
        EXAMPLES[0].text,
        EXAMPLES[0].other,
        "*il* is the dog, *elle* the road. Follow *it* in encoder head "
        f"{TAUGHT_LAYER + 1}-{TAUGHT_HEAD + 1}, then *car* in *cross*.",
    ),
    Example(
        "trophy / suitcase",
        "The trophy does not fit in the suitcase as it is too big.",
        "The trophy does not fit in the suitcase as it is too small.",
        "BERT's head 4-2 fails here. Does this one change sides?",
    ),
    Example(
        "it first",
        "As it was too tired, the dog did not cross the road.",
        "As it was too narrow, the dog did not cross the road.",
        "*it* comes before its noun here: the encoder must look ahead.",
    ),
    Example(
        "word order",
        "The black dog crossed the road.",
        "The small dog crossed the road.",
        "*noir* follows its noun, *petit* does not: see in *cross* how the lines cross.",
        "black",
    ),
)


@dataclass(frozen=True)
class Introduction:
    """What one family of models is shown with first.

    Attributes:
        layer, head: the head that is open first, from 1: in it, "it" looks at the noun that it stands for.
        examples: sentences that these models can read.
    """

    layer: int
    head: int
    examples: tuple[Example, ...]


_BERT = Introduction(4, 2, EXAMPLES)
_TRANSLATOR = Introduction(TAUGHT_LAYER + 1, TAUGHT_HEAD + 1, TRANSLATED)

OPENING = EXAMPLES[0]


def introduction(model: str) -> Introduction:
    """What a model of the catalogue is shown with first."""
    return _TRANSLATOR if "cross" in catalogue.entry(model).kinds else _BERT


def example_of(model: str, text: str, other: str) -> Example | None:
    """The example that these sentences are, whichever of the two comes first; None for the visitor's own."""
    for example in introduction(model).examples:
        if {text, other} == {example.text, example.other}:
            return example
    return None


def example_named(model: str, name: str) -> Example:
    """The model's example whose button says this."""
    return next(example for example in introduction(model).examples if example.name == name)
