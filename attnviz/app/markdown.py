"""User text, escaped for Markdown."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of
from attnviz.text import percent

# Streamlit turns these into links, arrows or icons even when escaped. An invisible word joiner prevents that.
_REWRITTEN = re.compile(
    r"https?(?=://)|www(?=\.)|[\w.+-](?=@)|(?<!\S)[-<>~](?=[->=]{1,2}(?!\S))|:(?=material/)", re.IGNORECASE
)


class Markdown(str):
    """Text that is already Markdown, and is not escaped in a lesson's document."""

    __slots__ = ()


def code(text: str) -> Markdown:
    """Return the text as a code span on one line.

    Only code spans show Markdown, formulas, links, images, directives and emoji names as typed.
    """
    text = " ".join(text.split()) or " "
    text = text.replace(
        ":material/", ":\u2060material/"
    )  # as in `_REWRITTEN`: icons are replaced before Markdown is parsed
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # A code span loses one space at each end if both are there, and must not begin or end with its fence.
    padding = " " if text[0] in "` " or text[-1] in "` " else ""
    return Markdown(f"{fence}{padding}{text}{padding}{fence}")


@lru_cache(maxsize=256)  # a page has about 25 such texts, nearly all constant
def plain(text: str) -> str:
    """Escape a message, and any user text in it, so that Markdown does not format it."""
    text = _REWRITTEN.sub("\\g<0>\u2060", text)
    text = re.sub(r"([\\`*_{}\[\]<>#$~|!:&])", r"\\\1", text)
    return re.sub(
        r"^(\s*\d*)([-+=.)])", r"\1\\\2", text, flags=re.MULTILINE
    )  # else it would begin a list or a heading


@cache
def parts(file: Path) -> dict[str, str]:
    """Return the parts of a bundled Markdown file, by heading ("## name")."""
    found = re.split(r"^## (.+)\n", file.read_text("utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(found[1::2], found[2::2], strict=True)}


def token(place: int, groups: Sequence[DisplayToken]) -> Markdown:
    """Return a token's label as a code span, with the token's position if the label is not unique."""
    return code(name_of(place, groups))


def shares(weights: Iterable[tuple[str, float]], *, bold: bool = True) -> Markdown:
    """Return tokens with their weights: "`dog` **66 %**, `road` **0.7 %**"."""
    sign = "**" if bold else ""
    listed = (f"{code(name)} {sign}{percent(weight, int(weight < 0.01))}{sign}" for name, weight in weights)
    return Markdown(", ".join(listed))
