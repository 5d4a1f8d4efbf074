"""Sentences of a wanted number of tokens, no two of them alike."""

TEXT = (
    "the dog did not cross the road as it was too tired so a small cat went over and found some old fish "
    "near that house where nobody had been since last summer"
)
WORDS = TEXT.split()

TIRED = "The dog did not cross the road as it was too tired."
GIFT = "When Mary and John went to the shop, John gave a book to"


def text_for(model: str) -> str:
    """A text that a model of the catalogue can read: the storyteller has never seen a dog."""
    return GIFT if model.startswith("storyteller") else TIRED


def sentence(tokens: int) -> str:
    """A text of so many tokens, [CLS] and [SEP] included; each of its words is one token."""
    step = 1 + tokens % 7
    return " ".join(WORDS[(place * step + tokens) % len(WORDS)] for place in range(tokens - 2))
