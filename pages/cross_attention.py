"""How does one sequence read another? Two texts of the visitor's, and who reads what in them."""

from attnviz.ui import frame
from attnviz.ui.learn import cross_attention
from attnviz.ui.learn.lesson import lesson
from attnviz.ui.learn.trained_cross_attention import trained

frame.require()
with lesson("cross_attention", cross_attention.PARAMETERS) as places:
    with places.controls:
        texts = cross_attention.choose_texts()
    with places.picture:
        reading = cross_attention.choose(*texts)
    with places.question:
        cross_attention.question(reading)
    with places.picture:
        cross_attention.picture(reading)
    with places.text:
        cross_attention.text(reading)
    with places.more:
        cross_attention.more(reading)
        trained()
    with places.code:
        cross_attention.code()
    with places.limits:
        cross_attention.limits()
