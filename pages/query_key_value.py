"""What are query, key and value? Six steps for one token, each with its real matrices."""

from attnviz.ui import frame
from attnviz.ui.learn import query_key_value
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("query_key_value", query_key_value.PARAMETERS) as places:
    with places.controls:
        chosen = query_key_value.choose()
    with places.question:
        query_key_value.question(chosen)
    with places.picture:
        query_key_value.picture(chosen)
    with places.text:
        query_key_value.text(chosen)
    with places.more:
        query_key_value.more(chosen)
    with places.code:
        query_key_value.code(chosen)
    with places.limits:
        query_key_value.limits(chosen)
