"""What is attention? A weighted average of the sentence: choose how it is weighed, and see the sum."""

from attnviz.ui import frame
from attnviz.ui.learn import weighted_average
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("weighted_average", weighted_average.PARAMETERS) as places:
    with places.controls:
        chosen = weighted_average.choose()
    with places.question:
        weighted_average.question(chosen)
    with places.picture:
        chosen = weighted_average.choose_average(chosen)
        weighted_average.picture(chosen)
    with places.text:
        weighted_average.text(chosen)
    with places.more:
        weighted_average.more(chosen)
    with places.code:
        weighted_average.code()
    with places.limits:
        weighted_average.limits()
