"""Why attention, and not memory? Stretch a sentence, and see who loses it."""

from attnviz.ui import frame
from attnviz.ui.learn import long_distances
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("long_distances", long_distances.PARAMETERS) as places:
    with places.more:
        found = long_distances.measured()
        long_distances.measures(found)
    with places.question:
        long_distances.question(found)
    with places.text:
        long_distances.text(found)
    with places.code:
        long_distances.code()
    with places.limits:
        long_distances.limits(found)
    with places.controls:
        text, seed = long_distances.choose()
    with places.picture:
        long_distances.picture(long_distances.stretch(text, seed), found)
