"""Sentences to begin with; a pair differs in one word that turns the meaning of another."""

from dataclasses import dataclass

from attnviz.app.models import lookup
from attnviz.models import catalogue
from attnviz.models.catalogue import Entry
from attnviz.text import head_name
from attnviz.trained.translator.variants import GUIDED_HEAD, GUIDED_LAYER


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        name: the label of its button.
        text: the sentence.
        other: the sentence to compare it with, or to read together with it; "" for none.
        remark: what to look for, in Markdown.
        query: the word shown first; "" for the last one.
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
        "The last word decides what *it* refers to. Follow *it* in head 4-2, then switch the word.",
    ),
    Example(
        "animal / street",
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
        "Does head 4-2 do here what it did for the dog?",
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
        "The same word, two meanings: which heads let *bank* attend to the last word?",
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
        "*flies like* occurs twice. Do the two *flies* attend to the same tokens?",
        "flies",
    ),
)

TRANSLATED = (
    Example(
        EXAMPLES[0].name,
        EXAMPLES[0].text,
        EXAMPLES[0].other,
        "*il* is the dog, *elle* the road. Follow *it* in encoder head "
        f"{head_name(GUIDED_LAYER, GUIDED_HEAD)}, then *car* in *cross*.",
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
        "*it* comes before its noun here. Does the encoder attend to later words?",
    ),
    Example(
        "word order",
        "The black dog crossed the road.",
        "The small dog crossed the road.",
        "*noir* follows its noun, *petit* does not. What do the lines in *cross* do?",
        "black",
    ),
)


TOGETHER = (
    Example(
        "It was too tired",
        "The dog did not cross the road.",
        "It was too tired.",
        "Two sentences in one reading. Choose *B→A*: which heads let *it* attend to *dog*?",
    ),
    Example(
        "question / answer",
        "Where did she leave the keys?",
        "She left them on the table.",
        "Choose *A→B*: which heads connect *keys* with its description in the answer?",
        "keys",
    ),
    Example(
        "the same twice",
        "Birds sing in the morning.",
        "Birds sing in the morning.",
        "Every word occurs twice. Which heads attend from a word to the same word in the other sentence?",
        "sing",
    ),
)

NEUTRAL = tuple(
    Example(example.name, example.text, example.other, remark, example.query)
    for example, remark in zip(
        EXAMPLES,
        (
            "The last word decides what *it* refers to. Which head follows? Switch the word.",
            "Does any head follow *it*?",
            "Does a head change sides when *big* becomes *small*?",
            EXAMPLES[3].remark,
            EXAMPLES[4].remark,
            EXAMPLES[5].remark,
        ),
        strict=True,
    )
)

UNFINISHED = (
    Example(
        "capital",
        "The capital of France is",
        "The capital of Italy is",
        "What comes next? Which heads let the last word attend to the country?",
        "",
    ),
    Example(
        "keys / cabinet",
        "The keys to the old cabinet",
        "The key to the old cabinet",
        "*is* or *are*? Which heads let the last word look past it, at *keys*?",
        "",
    ),
    Example(
        "who gets it",
        "When Mary and John went to the shop, John gave a drink to",
        "When Mary and John went to the shop, Mary gave a drink to",
        "Which heads attend to the name that occurs only once?",
        "",
    ),
    Example(
        "again",
        "red blue green seven red blue green",
        "",
        "A pattern that begins again. Which heads look from the last *green* to what followed the first?",
        "",
    ),
)

STORIES = (
    Example(
        "keys / lamp",
        "the keys near the lamp",
        "the key near the lamp",
        "*was* or *were*? With *keys*, the nearer noun is of the wrong number.",
        "",
    ),
    Example(
        "she or he",
        "Mary called John because",
        "John called Mary because",
        "In all its stories the reason is about the one who acts. Which head attends to them?",
        "",
    ),
    Example(
        "a new name",
        "near the river lived a creature named zo ra mi. everyone called it zo ra",
        "",
        "A name made of random syllables, never seen before. From where does the next one come?",
        "",
    ),
    Example(
        "who gets the book",
        "When Mary and John went to the shop, John gave a book to",
        "When Mary and John went to the shop, Mary gave a book to",
        "*Mary* or *John*? Which heads attend to the name that occurs only once? **Heads**, *What if a "
        "head were silent?*, measures what each carries from one text into the other.",
        "",
    ),
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
        f"The capital of Italy is {mask}.",
        "Which word is masked, and which heads let it attend to the country?",
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


def example_named(model: Entry, name: str) -> Example:
    """The model's example with this label."""
    return next(example for example in introduction(model).examples if example.name == name)
