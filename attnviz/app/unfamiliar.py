"""What in a text is unlike the language that a model learned from."""

from __future__ import annotations

from collections.abc import Iterable

from attnviz.analysis.display_tokens import UNKNOWN, DisplayToken
from attnviz.app import markdown
from attnviz.app.models import lookup
from attnviz.models import catalogue
from attnviz.text import joined, plural

_LEARNED_FROM_ENGLISH = ("minilm", catalogue.FROM_SCRATCH)
_MOST_QUOTED = 5  # signs that a model does not know


def unfamiliar(model: str, groups: Iterable[DisplayToken], where: str = "here") -> str:
    """What in these tokens is unlike the language that a model learned from, in Markdown; "" for nothing.

    It is signs that it does not know, and that half of the words or more are cut into pieces, as those of
    other languages are. `where` says in which part of the text.
    """
    english = model in _LEARNED_FROM_ENGLISH
    name = "BERT" if english else markdown.code(lookup.called(model))
    unknown: dict[str, None] = {}
    words: list[int] = []  # how many pieces each has
    for group in groups:
        if group.label.startswith(UNKNOWN):
            unknown[markdown.code(group.label)] = None
        if group.label.startswith("##") and words:
            words[-1] += 1
        elif not group.special and any(map(str.isalnum, group.label)):
            words.append(1)
    cut = sum(pieces > 1 for pieces in words)
    told = []
    if unknown:
        more = [f"{len(unknown) - _MOST_QUOTED:,} more"] if len(unknown) > _MOST_QUOTED else []
        quoted = joined([*list(unknown)[:_MOST_QUOTED], *more])
        told.append(f"What {name} does not know, it reads as one and the same token: {quoted}.")
    if cut and 2 * cut >= len(words):
        of = (
            "BERT learned from English: of other languages, and of rare words, it knows little."
            if english
            else f"What {name} learned from had few of them, as of the words of other languages."
        )
        told.append(
            f"{cut} of {plural(len(words), 'word')} {where} {'is' if cut == 1 else 'are'} cut into pieces "
            f"(##). {of}"
        )
    return " ".join(told)
