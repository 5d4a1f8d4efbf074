"""What changes between two sentences?"""

from attnviz.app.folded import NOT_SHOWN, folded, section
from attnviz.app.heads.compare import choices, explained, two_sentences
from attnviz.app.heads.tool import tool

with tool("compare"):
    compared, places = choices.choose()
    if compared:
        compared = two_sentences.draw(compared, places)
        folded(
            section("How words are aligned, and what is measured", explained.draw, compared),
            section(NOT_SHOWN, explained.limits),
        )
