"""Why are the scores divided by √d? Random numbers show it, and a real head."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, not_shown, the_code
from attnviz.app.learn.scale import sections
from attnviz.app.state.choices import HEAD, LAYER, QUERY, TEXT

with lesson("scale") as places:
    drawn = places.picture(sections.draw)
    places.question(sections.question)
    places.picture(sections.picture, drawn)
    places.text(sections.text)
    places.folded(
        section("Could it still learn?", sections.learning, drawn),
        section("In the bundled BERT", sections.real).with_choices(TEXT, LAYER, HEAD, QUERY),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
