"""A note on parts of a text that are unlike the bundled BERT's English training text."""

from __future__ import annotations

from collections.abc import Iterable

from attnviz.analysis.display_tokens import UNKNOWN, DisplayToken
from attnviz.app import markdown
from attnviz.text import joined, plural

_MAX_QUOTED = 5  # unknown characters


def unfamiliar(groups: Iterable[DisplayToken]) -> str:
    """Return a note in Markdown about unknown characters and split words; "" for none.

    Split words are mentioned only if at least half of the words are split, as in other languages.
    """
    unknown: dict[str, None] = {}
    words: list[int] = []  # number of pieces of each word
    for group in groups:
        if group.label.startswith(UNKNOWN):
            unknown[markdown.code(group.label.split(" ", 1)[-1])] = None
        if group.label.startswith("##") and words:
            words[-1] += 1
        elif not group.special and any(map(str.isalnum, group.label)):
            words.append(1)
    split = sum(pieces > 1 for pieces in words)
    notes = []
    if unknown:
        more = [f"{len(unknown) - _MAX_QUOTED:,} more"] if len(unknown) > _MAX_QUOTED else []
        quoted = joined([*list(unknown)[:_MAX_QUOTED], *more])
        notes.append(f"Not in MiniLM’s vocabulary: {quoted}. Each becomes the token [UNK].")
    if split and 2 * split >= len(words):
        notes.append(
            f"MiniLM was trained on English. It splits {split} of {plural(len(words), 'word')} into "
            "pieces (##)."
        )
    return " ".join(notes)
