"""Who gets the book? Two names, and the heads that decide which one a small language model writes."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.who_gets_the_book import choices, many, sections

with lesson("who_gets_the_book") as places:
    text, model = places.controls(choices.choose_text)
    chosen = places.controls(choices.choose, text, model)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    if not chosen.read.third:
        places.more(sections.carried, chosen)
    places.code(sections.code)
    places.limits(sections.limits)
    places.more(many.draw, chosen)  # at last: it takes longest
