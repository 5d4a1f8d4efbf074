"""What happens inside a block? One token's vector, from station to station and from layer to layer."""

from attnviz.ui import frame
from attnviz.ui.learn import block
from attnviz.ui.learn.lesson import lesson
from attnviz.ui.learn.sentence import sentence

frame.require()
with lesson("block", block.PARAMETERS) as places:
    with places.controls:
        text = sentence()
    with places.picture:
        chosen = block.choose(text)
        block.picture(chosen)
    with places.question:
        block.question(chosen)
    with places.text:
        block.text(chosen)
    with places.more:
        block.more(chosen)
    with places.code:
        block.code()
    with places.limits:
        block.limits(chosen)
