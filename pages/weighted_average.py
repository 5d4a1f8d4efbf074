"""What is attention? A weighted average of the sentence: choose how it is weighed, and see the sum."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.weighted_average import sections

with lesson("weighted_average") as places:
    with places.controls:
        chosen = sections.choose()
    with places.question:
        sections.question(chosen)
    with places.picture:
        chosen = sections.choose_average(chosen)
        sections.picture(chosen)
    with places.text:
        sections.text(chosen)
    with places.more:
        sections.more(chosen)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits()
