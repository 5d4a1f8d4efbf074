"""Where do a head's queries and keys meet?"""

from attnviz.ui import frame
from attnviz.ui.heads import plane
from attnviz.ui.heads.tool import tool

frame.require()
with tool("plane", plane.PARAMETERS):
    chosen = plane.choose()
    found = plane.find(chosen)
    plane.picture(chosen, found)
    plane.trust(chosen, found)
    plane.lost(chosen, found)
