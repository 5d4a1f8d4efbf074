"""How does one sequence read another? Two texts of the visitor's, and who reads what in them."""

from attnviz.app.learn.cross_attention import sections
from attnviz.app.learn.cross_attention.trained import trained
from attnviz.app.learn.lesson import lesson

with lesson("cross_attention") as places:
    with places.controls:
        texts = sections.choose_texts()
    with places.picture:
        reading = sections.choose(*texts)
    with places.question:
        sections.question(reading)
    with places.picture:
        sections.picture(reading)
    with places.text:
        sections.text(reading)
    with places.more:
        sections.more(reading)
        trained()
    with places.code:
        sections.code()
    with places.limits:
        sections.limits()
