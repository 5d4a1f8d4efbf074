"""What happens inside a block? One token's vector, from station to station and from layer to layer."""

from attnviz.app.learn import choosing
from attnviz.app.learn.block import sections
from attnviz.app.learn.lesson import lesson

with lesson("block") as places:
    with places.controls:
        text = choosing.sentence()
    with places.picture:
        chosen = sections.choose(text)
        sections.picture(chosen)
    with places.question:
        sections.question(chosen)
    with places.text:
        sections.text(chosen)
    with places.more:
        sections.more(chosen)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits(chosen)
