"""Why many heads? Each adds its own share to the output, and together they cost no more than one."""

from attnviz.app.learn.choosing import head_selection
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.many_heads import sections

with lesson("many_heads") as places:
    chosen = places.controls(head_selection)
    places.question(sections.question, chosen)
    heads = places.picture(sections.picture, chosen)
    places.text(sections.text, chosen, heads)
    places.more(sections.more, chosen)
    places.code(the_code, *sections.CODE)
    places.limits(sections.limits, chosen)
