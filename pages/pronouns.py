"""Which head resolves the pronoun, and which one knows the grammar?"""

from attnviz.app.heads.pronouns import choices, grammar_part, pronoun_part
from attnviz.app.heads.tool import tool

with tool("pronouns"):
    part, chosen = choices.choose()
    if part == choices.PRONOUNS:
        pronoun_part.draw(chosen)
    else:
        grammar_part.draw(chosen)
