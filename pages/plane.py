"""Where do a head's queries and keys meet?"""

from attnviz.app.heads.plane import sections
from attnviz.app.heads.tool import tool

with tool("plane"):
    chosen = sections.choose()
    found = sections.find(chosen)
    sections.picture(chosen, found)
    sections.trust(chosen, found)
    sections.lost(chosen, found)
