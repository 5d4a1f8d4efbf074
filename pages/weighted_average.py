"""What is attention? A weighted average of the sentence: choose how it is weighed, and see the sum."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, not_shown, the_code
from attnviz.app.learn.weighted_average import averages_compared, sections, splitting
from attnviz.app.state.choices import SPLIT

with lesson("weighted_average") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    chosen = places.picture(sections.choose_average, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("The formula, worked out", sections.formula, chosen),
        section("Does it know what it means?", averages_compared.meaning, chosen),
        section("Four ways to compare", averages_compared.scorings, chosen),
        section("One query, or all at once", averages_compared.matrix, chosen),
        section("What is a token?", splitting.draw, chosen.text).with_choices(SPLIT),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
