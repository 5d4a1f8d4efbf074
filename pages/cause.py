"""Is the picture the cause? One arrow is dragged elsewhere, and the model translates again."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.lessons.cause import choices, sections, tearing, tried
from attnviz.app.lessons.lesson import lesson, the_code
from attnviz.app.state.choices import TORN

with lesson("cause") as places:
    sentence, model, beside = places.controls(choices.choose_sentence)
    prose = places.text.below()
    changes = places.text(choices.choose_changes)
    with beside:
        chosen = choices.choose(sentence, model, changes)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    prose(sections.text, chosen)
    places.folded(
        section("Tear the arrow", tearing.draw, chosen).with_choices(TORN),
        section("A picture just as good", tried.beside, chosen),
        section("Every arrow, tried", tried.tried, chosen),
        section("Many sentences", tried.many),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits),
    )
