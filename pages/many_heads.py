"""Why many heads? Each adds its own share to the output, and together they cost no more than one."""

from attnviz.app.learn.choosing import head_selection
from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.many_heads import sections

with lesson("many_heads") as places:
    with places.controls:
        chosen = head_selection()
    with places.question:
        sections.question(chosen)
    with places.picture:
        heads = sections.picture(chosen)
    with places.text:
        sections.text(chosen, heads)
    with places.more:
        sections.more(chosen)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits(chosen)
