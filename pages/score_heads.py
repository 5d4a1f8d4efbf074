"""Score heads: what does each head do?"""

from attnviz.app.heads.score import choices, results
from attnviz.app.heads.tool import tool

with tool("score_heads"):
    chosen = choices.choose()
    if chosen.corpus:
        results.draw(chosen)
