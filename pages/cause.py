"""Is the picture the cause? One arrow is dragged elsewhere, and the model translates again."""

from attnviz.app.learn.cause import choices, sections, tried
from attnviz.app.learn.lesson import lesson

with lesson("cause") as places:
    with places.controls:
        sentence, model, beside = choices.choose_sentence()
    with places.text:
        prose = places.text.container()
        changes = choices.choose_changes()
    with beside:
        chosen = choices.choose(sentence, model, changes)
    with places.question:
        sections.question(chosen)
    with places.picture:
        sections.picture(chosen)
    with prose:
        sections.text(chosen)
    with places.more:
        tried.beside(chosen)
        tried.tried(chosen)
        tried.many()
    with places.code:
        sections.code()
    with places.limits:
        sections.limits()
