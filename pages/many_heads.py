"""Why many heads? Each adds its own share to the output, and together they cost no more than one."""

from attnviz.ui import frame
from attnviz.ui.learn import many_heads
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("many_heads", many_heads.PARAMETERS) as places:
    with places.controls:
        chosen = many_heads.choose()
    with places.question:
        many_heads.question(chosen)
    with places.picture:
        heads = many_heads.picture(chosen)
    with places.text:
        many_heads.text(chosen, heads)
    with places.more:
        many_heads.more(chosen)
    with places.code:
        many_heads.code()
    with places.limits:
        many_heads.limits(chosen)
