"""Find tokens with similar queries, keys or outputs in a head."""

from attnviz.app.heads.find import page
from attnviz.app.heads.tool import tool

with tool("find"):
    chosen, corpus = page.choose()
    if corpus:
        page.show(chosen, corpus)
