"""Every citation has an entry on the page References."""

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.references import CITATION, REFERENCES, cited
from tests.app.shown import APP, visit

# A line break inside a citation: the end of one string and the start of the next, or a comment sign.
_LINE_BREAK = re.compile(r"""["']?\s*\n\s*(?:(?:#|\*|//)\s|f?["'])?""")


def all_cited() -> Iterator[tuple[str, str]]:
    """Yield (citation, file) for every citation in the sources."""
    for folder in ("attnviz", "pages"):
        for file in sorted((APP.parent / folder).rglob("*.[mpj][dys]")):
            if file.name != "references.py" and file.parent.name != "bundle":
                text = _LINE_BREAK.sub(" ", file.read_text("utf-8"))
                yield from ((cited(found), str(file)) for found in CITATION.finditer(text))


def test_every_citation_has_an_entry_and_every_entry_is_cited() -> None:
    found = list(all_cited())
    assert [(name, file) for name, file in found if name not in REFERENCES] == []
    assert REFERENCES.keys() - {name for name, _ in found} == set()


CLARK = "references?cited=Clark+et+al.+2019"
ZUIDEMA = "references?cited=Abnar+%26+Zuidema+2020"


def _page(text: str) -> None:
    from attnviz.app.references import cited_markdown

    cited_markdown(text)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("As (Clark et al. 2019) say", f"As ([Clark et al. 2019]({CLARK})) say"),
        ("Clark et al. (2019) say", f"[Clark et al. (2019)]({CLARK}) say"),
        ("as Clark et\n  al. 2019 say", f"as [Clark et al. 2019]({CLARK}) say"),
        ("Abnar and Zuidema 2020", f"[Abnar and Zuidema 2020]({ZUIDEMA})"),
        (
            "Clark et al. 2019; Abnar & Zuidema 2020",
            f"[Clark et al. 2019]({CLARK}); [Abnar & Zuidema 2020]({ZUIDEMA})",
        ),
        *((same, same) for same in ("Nobody et al. 2019", "Clark et al. 20190", "In 2019")),
    ],
)
def test_citation_becomes_a_link(text: str, drawn: str) -> None:
    [markdown] = AppTest.from_function(_page, args=(text,)).run().markdown
    assert markdown.value == drawn


def test_link_shows_its_entry_above_the_complete_list() -> None:
    opened, listed = (element.value for element in visit("references", cited="Clark et al. 2019").markdown)
    assert REFERENCES["Clark et al. 2019"].url in opened
    for line, entry in zip(listed.splitlines(), REFERENCES.values(), strict=True):
        assert entry.url in line
