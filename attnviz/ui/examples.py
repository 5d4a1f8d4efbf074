"""Sentences to begin with; a pair differs in one word that turns the meaning of another."""

from dataclasses import dataclass


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

OPENING = EXAMPLES[0]


def example_of(text: str, other: str) -> Example | None:
    """The example that these sentences are, whichever of the two comes first; None for the visitor's own."""
    for example in EXAMPLES:
        if {text, other} == {example.text, example.other}:
            return example
    return None


def example_named(name: str) -> Example:
    """The example whose button says this."""
    return next(example for example in EXAMPLES if example.name == name)
