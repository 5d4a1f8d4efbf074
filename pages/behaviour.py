"""What does each head do, on one sentence and on many?"""

from attnviz.app.heads.behaviour import choices, sections, texts
from attnviz.app.heads.tool import tool

with tool("behaviour"):
    source = texts.choose()
    text, entry, place = texts.sentence_and_model(source)
    if not source:
        sections.on_sentence(entry, text)
    else:
        chosen = choices.choose(entry)
        with place:
            corpus = texts.corpus(source)
        if corpus:
            sections.on_many(entry, corpus, chosen)
