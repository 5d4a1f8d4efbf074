"""What are query, key and value? Six steps for one token, each with its real matrices."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.query_key_value import sections

with lesson("query_key_value") as places:
    with places.controls:
        chosen = sections.choose()
    with places.question:
        sections.question(chosen)
    with places.picture:
        sections.picture(chosen)
    with places.text:
        sections.text(chosen)
    with places.more:
        sections.more(chosen)
    with places.code:
        sections.code(chosen)
    with places.limits:
        sections.limits(chosen)
