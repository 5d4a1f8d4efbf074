"""Find: where else does a head have such a query, key or output?"""

from attnviz.app.heads.find import page
from attnviz.app.heads.tool import tool

with tool("find"):
    chosen, corpus = page.choose()
    if corpus:
        page.show(chosen, corpus)
