"""A visitor's words, made safe to stand inside Markdown."""

import re


def code(text: str) -> str:
    """The text as a code span on one line.

    Nowhere else do Markdown, formulas, links, images, directives and emoji names all stay the letters
    that were typed.
    """
    text = " ".join(text.split()) or " "
    # Streamlit rewrites the names of its icons before Markdown is read. A word joiner, which shows as
    # nothing, keeps them from being names.
    text = text.replace(":material/", ":\u2060material/")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # A code span loses one space at each end if both are there, and must not begin or end with its fence.
    padding = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def plain(text: str) -> str:
    """A message as Markdown without formatting, whatever words of the visitor it quotes."""
    return re.sub(r"([\\`*_{}\[\]<>#$~|!:])", r"\\\1", text)
