"""How does a circuit form? A training of the storyteller, to be watched step by step, and to be run here."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.watch_a_circuit_form import sections

with lesson("watch_a_circuit_form") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.more(sections.train, chosen)
    places.code(sections.code)
    places.limits(sections.limits, chosen)
