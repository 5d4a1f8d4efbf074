"""Where do a head's queries and keys meet?"""

from attnviz.ui import frame
from attnviz.ui.heads import choosing
from attnviz.ui.heads.tool import tool

frame.require()
with tool("plane", choosing.HERE):
    text, entry = choosing.sentence_and_model()
