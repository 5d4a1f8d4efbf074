"""What if a head were silent, or looked elsewhere?"""

from attnviz.ui import frame
from attnviz.ui.heads import choosing
from attnviz.ui.heads.tool import tool

frame.require()
with tool("intervene", choosing.HERE):
    text, entry = choosing.sentence_and_model()
