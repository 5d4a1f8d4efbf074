"""Where else does a head do this?"""

from attnviz.app.heads.find import sections
from attnviz.app.heads.tool import tool

with tool("find"):
    chosen, within = sections.choose()
    if within:
        sections.find(chosen, within)
