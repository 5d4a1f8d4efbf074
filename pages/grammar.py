"""Which head knows the grammar?"""

from attnviz.app.heads.pronouns import choices, grammar_part
from attnviz.app.heads.tool import tool

with tool("grammar"):
    grammar_part.draw(*choices.choose())
