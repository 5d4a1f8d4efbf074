"""Is the picture the cause? One arrow is dragged elsewhere, and the model translates again."""

from attnviz.app.learn.cause import choices, sections, tried
from attnviz.app.learn.lesson import lesson, not_shown, the_code

with lesson("cause") as places:
    sentence, model, beside = places.controls(choices.choose_sentence)
    prose = places.text.below()
    changes = places.text(choices.choose_changes)
    with beside:
        chosen = choices.choose(sentence, model, changes)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    prose(sections.text, chosen)
    places.more(tried.beside, chosen)
    places.more(tried.tried, chosen)
    places.more(tried.many)
    places.code(the_code, *sections.CODE)
    places.limits(not_shown, sections.LIMITS)
