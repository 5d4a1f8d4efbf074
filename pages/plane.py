"""Where do a head's queries and keys meet?"""

from attnviz.app.folded import folded, section
from attnviz.app.heads.plane import many, sections
from attnviz.app.heads.tool import tool

with tool("plane"):
    chosen = sections.choose()
    if isinstance(chosen, sections.PlaneSelection):
        found = sections.find(chosen)
        sections.picture(chosen, found)
        folded(
            section("How to read it", sections.guide, chosen),
            section("How far to trust it", sections.trust, chosen, found),
            section("Why near is not the same as much", sections.lost, chosen, found),
        )
    else:
        selection, corpus = chosen
        if corpus:
            many.find(selection, corpus)
