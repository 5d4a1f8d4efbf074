"""What are query, key and value? Six steps for one token, each with its real matrices."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.query_key_value import sections

with lesson("query_key_value") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.more(sections.more, chosen)
    places.code(sections.code, chosen)
    places.limits(sections.limits, chosen)
