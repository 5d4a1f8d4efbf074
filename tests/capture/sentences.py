"""Sentences of a wanted number of tokens, no two of them alike."""

TEXT = (
    "the dog did not cross the road as it was too tired so a small cat went over and found some old fish "
    "near that house where nobody had been since last summer"
)
WORDS = TEXT.split()


def sentence(tokens: int) -> str:
    """A text of so many tokens, [CLS] and [SEP] included; each of its words is one token."""
    step = 1 + tokens % 7
    return " ".join(WORDS[(place * step + tokens) % len(WORDS)] for place in range(tokens - 2))
