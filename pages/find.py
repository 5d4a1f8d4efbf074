"""Where else does a head do this?"""

from attnviz.app.heads.find import sections
from attnviz.app.heads.tool import tool

with tool("find"):
    chosen, corpus = sections.choose()
    if corpus:
        sections.find(chosen, corpus)
