"""Is the picture the cause? One arrow is dragged elsewhere, and the model translates again."""

from attnviz.ui import frame
from attnviz.ui.learn import cause, cause_choices, causes_tried
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("cause", cause_choices.PARAMETERS) as places:
    with places.controls:
        sentence, model, beside = cause_choices.choose_sentence()
    with places.text:
        prose = places.text.container()
        changes = cause_choices.choose_changes()
    with beside:
        chosen = cause_choices.choose(sentence, model, changes)
    with places.question:
        cause.question(chosen)
    with places.picture:
        cause.picture(chosen)
    with prose:
        cause.text(chosen)
    with places.more:
        causes_tried.beside(chosen)
        causes_tried.tried(chosen)
        causes_tried.many()
    with places.code:
        cause.code()
    with places.limits:
        cause.limits()
