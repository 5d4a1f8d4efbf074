"""What is an induction head? Random words are said twice, and the heads that copy them are silenced."""

from attnviz.app.learn.induction import other_models, sections
from attnviz.app.learn.lesson import lesson

with lesson("induction") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.more(sections.tried, chosen)
    places.more(other_models.draw)
    places.code(sections.code)
    places.limits(sections.limits, chosen)
