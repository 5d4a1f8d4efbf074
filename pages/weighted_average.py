"""What is attention? A weighted average of the sentence: choose how it is weighed, and see the sum."""

from attnviz.app.learn.lesson import lesson, not_shown, the_code
from attnviz.app.learn.weighted_average import averages_compared, sections, splitting

with lesson("weighted_average") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    chosen = places.picture(sections.choose_average, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.more(averages_compared.meaning, chosen)
    places.more(averages_compared.scorings, chosen)
    places.more(averages_compared.matrix, chosen)
    places.more(splitting.draw, chosen.text)
    places.code(the_code, *sections.CODE)
    places.limits(not_shown, sections.LIMITS)
