"""How does one sequence read another? Two texts of the visitor's, and who reads what in them."""

from attnviz.app.learn.cross_attention import sections
from attnviz.app.learn.cross_attention.trained import trained
from attnviz.app.learn.lesson import lesson, not_shown, the_code

with lesson("cross_attention") as places:
    texts = places.controls(sections.choose_texts)
    reading = places.picture(sections.choose, *texts)
    places.question(sections.question, reading)
    places.picture(sections.picture, reading)
    places.text(sections.text, reading)
    places.more(sections.more, reading)
    places.more(trained)
    places.code(the_code, *sections.CODE)
    places.limits(not_shown, sections.LIMITS)
