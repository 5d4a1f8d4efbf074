"""What changes between two sentences?"""

from attnviz.app.folded import NOT_SHOWN, folded, section
from attnviz.app.heads.compare import choices, two_sentences
from attnviz.app.heads.tool import tool

with tool("compare"):
    compared, places = choices.choose()
    if compared:
        two_sentences.draw(compared, places)
        folded(
            section("How words are aligned, and what is measured", two_sentences.explain),
            section(NOT_SHOWN, two_sentences.limits),
        )
