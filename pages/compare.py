"""What changes between two sentences, or two models?"""

from attnviz.ui import frame
from attnviz.ui.heads import choosing
from attnviz.ui.heads.tool import tool

frame.require()
with tool("compare", choosing.HERE):
    text, entry = choosing.sentence_and_model()
