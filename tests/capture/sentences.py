"""Sentences for tests, and texts with a given number of tokens."""

TEXT = (
    "the dog did not cross the road as it was too tired so a small cat went over and found some old fish "
    "near that house where nobody had been since last summer"
)
WORDS = TEXT.split()

TIRED = "The dog did not cross the road as it was too tired."
GIFT = "When Mary and John went to the shop, John gave a book to"


def text_for(model: str) -> str:
    """Return a text that a bundled model can read: "dog" is not in the storyteller's vocabulary."""
    return GIFT if model.startswith("storyteller") else TIRED


def sentence(tokens: int) -> str:
    """Return a text of this many tokens, including [CLS] and [SEP]; each word is one token."""
    step = 1 + tokens % 7
    return " ".join(WORDS[(place * step + tokens) % len(WORDS)] for place in range(tokens - 2))
