"""Who gets the book? Two names, and the heads that decide which one a small language model writes."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, not_shown, the_code
from attnviz.app.learn.who_gets_the_book import choices, many, sections

with lesson("who_gets_the_book") as places:
    text, model, beside = places.controls(choices.choose_text)
    prose = places.text.below()
    changes = places.text(choices.choose_changes)
    with beside:
        chosen = choices.choose(text, model, changes)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    prose(sections.text, chosen)
    places.folded(
        section("What each head adds, as a sum", sections.added, chosen),
        section("What each head carries", sections.carried, chosen),
        section("Many texts", many.draw, chosen),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
