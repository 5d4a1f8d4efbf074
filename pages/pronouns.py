"""Which head resolves the pronoun, and which one knows the grammar?"""

from attnviz.ui import frame
from attnviz.ui.heads.pronouns import choices, grammar_part, pronoun_part
from attnviz.ui.heads.tool import tool

frame.require()
with tool("pronouns", choices.PARAMETERS):
    chosen = choices.choose()
    if chosen.part == choices.PRONOUNS:
        pronoun_part.draw(chosen)
    else:
        grammar_part.draw(chosen)
