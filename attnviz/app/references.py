"""References of the pages and the code: the list, and links from citations to its entries."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st

from attnviz.app.state.choices import CITED

CITATION = re.compile(
    r"(?<![\w/-])(?P<who>(?:(?:Le|van)\s++)?[A-Z][\w-]++(?<=\w)"
    r"(?:\s++et\s++al\.|\s++(?:&|and)\s++(?:van\s++)?[A-Z][\w-]++(?<=\w))?)"
    r"\s++(?:(?P<year>(?:18|19|20)\d\d)|\((?P<in_brackets>(?:18|19|20)\d\d)\))(?!\w)"
)
"""Authors and year: "Clark et al. 2019", "Abnar & Zuidema (2020)", "Lin 1991"."""

_SITES = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/", "https": "https:"}


class Reference(NamedTuple):
    """An entry of the list.

    Attributes:
        title, venue: As published.
        found_at: "arXiv:" or "doi:" with the identifier, or a URL; "" for none.
    """

    title: str
    venue: str
    found_at: str = ""

    @property
    def url(self) -> str:
        """URL of the publication; "" if unknown."""
        site, _, number = self.found_at.partition(":")
        return f"{_SITES[site]}{number}" if site else ""


REFERENCES = {
    name: Reference(**facts)
    for name, facts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
"""References by citation."""


def cited(found: re.Match[str]) -> str:
    """Return the key in `REFERENCES` for a match: "Abnar & Zuidema 2020" for "Abnar and Zuidema (2020)"."""
    who = " ".join(found["who"].split()).replace(" and ", " & ")
    return f"{who} {found['year'] or found['in_brackets']}"


def cited_markdown(text: str) -> None:
    """Draw trusted Markdown; citations become links to the References page, and "%" never begins a line."""
    st.markdown(CITATION.sub(_link, text).replace(" %", "\N{NO-BREAK SPACE}%"))


def _link(found: re.Match[str]) -> str:
    name = cited(found)
    if name not in REFERENCES:
        return found[0]
    return f"[{' '.join(found[0].split())}](references?{urlencode({CITED.name: name})})"


def draw() -> None:
    """Draw the selected entry, and the list of all entries."""
    name = CITED.select("Cited as", list(REFERENCES))
    with st.container(border=True):
        st.markdown(_entry(name))
    st.header("All references", anchor=False)
    st.markdown("\n".join(f"- {_entry(name)}" for name in REFERENCES))


def _entry(name: str) -> str:
    who, year = name.rsplit(" ", 1)
    title, venue, found_at = REFERENCES[name]
    at = f" [{found_at}]({REFERENCES[name].url})" if found_at else ""
    stop = "" if title.endswith("?") else "."
    return f"**{who}, {year}.** *{title}*{stop} {venue}.{at}"
