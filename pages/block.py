"""What happens inside a block? One token's vector, from station to station and from layer to layer."""

from attnviz.app.learn import choosing
from attnviz.app.learn.block import sections
from attnviz.app.learn.lesson import lesson, not_shown, the_code

with lesson("block") as places:
    text = places.controls(choosing.sentence)
    chosen = places.picture(sections.choose, text)
    places.picture(sections.picture, chosen)
    places.question(sections.question, chosen)
    places.text(sections.text, chosen)
    places.more(sections.more, chosen)
    places.code(the_code, *sections.CODE)
    places.limits(not_shown, sections.LIMITS)
