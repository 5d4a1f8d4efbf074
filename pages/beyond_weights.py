"""Do the weights tell the story?"""

from attnviz.ui import frame
from attnviz.ui.heads import choosing
from attnviz.ui.heads.tool import tool

frame.require()
with tool("beyond_weights", choosing.HERE):
    text, entry = choosing.sentence_and_model()
