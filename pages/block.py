"""What happens inside a block? One token's vector, from station to station and from layer to layer."""

from attnviz.app.learn import choosing
from attnviz.app.learn.block import sections
from attnviz.app.learn.lesson import lesson

with lesson("block") as places:
    text = places.controls(choosing.sentence)
    chosen = places.picture(sections.choose, text)
    places.picture(sections.picture, chosen)
    places.question(sections.question, chosen)
    places.text(sections.text, chosen)
    places.more(sections.more, chosen)
    places.code(sections.code)
    places.limits(sections.limits)
