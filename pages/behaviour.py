"""What does each head do, on one sentence and on many?"""

from attnviz.ui import frame
from attnviz.ui.heads import choosing
from attnviz.ui.heads.tool import tool

frame.require()
with tool("behaviour", choosing.HERE):
    text, entry = choosing.sentence_and_model()
