"""Which head resolves the pronoun?"""

from attnviz.app.heads.pronouns import choices, pronoun_part
from attnviz.app.heads.tool import tool

with tool("pronouns"):
    pronoun_part.draw(*choices.choose())
