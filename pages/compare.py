"""What changes between two sentences, or two models?"""

from attnviz.ui import frame
from attnviz.ui.heads.compare import choices, explained, two_models, two_sentences
from attnviz.ui.heads.tool import tool

frame.require()
with tool("compare", choices.PARAMETERS):
    if compared := choices.choose():
        compared, how = choices.how(compared)
        (two_models if compared.two_models else two_sentences).draw(compared, how)
        explained.draw(compared, how)
