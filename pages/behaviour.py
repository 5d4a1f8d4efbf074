"""What does each head do, on one sentence and on many?"""

from attnviz.app.heads.behaviour import choices, sections, texts
from attnviz.app.heads.tool import tool

with tool("behaviour"):
    chosen, source, text, place = choices.choose()
    if not source:
        sections.on_sentence(text, chosen)
    else:
        with place:
            corpus = texts.corpus(source)
        if corpus:
            sections.on_many(corpus, chosen)
