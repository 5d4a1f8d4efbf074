"""What changes between two sentences, or two models?"""

from attnviz.app.heads.compare import choices, explained, two_models, two_sentences
from attnviz.app.heads.tool import tool

with tool("compare"):
    if compared := choices.choose():
        section = two_models if compared.two_models else two_sentences
        explained.draw(*section.draw(compared))
