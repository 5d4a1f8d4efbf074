"""How does one sequence read another? Two texts of the visitor's, and who reads what in them."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.cross_attention import sections
from attnviz.app.learn.cross_attention.trained import trained
from attnviz.app.learn.lesson import lesson, not_shown, the_code
from attnviz.app.state.choices import CROSS_EXAMPLE, CROSS_KEY, TRAINED_HEAD

with lesson("cross_attention") as places:
    chosen = places.controls(sections.choose_texts)
    reading = places.picture(sections.choose, *chosen)
    places.question(sections.question, reading)
    places.picture(sections.picture, reading)
    places.text(sections.text, reading)
    places.folded(
        section("The same, trained for it", trained).with_choices(CROSS_EXAMPLE, TRAINED_HEAD),
        section("From two vectors to a weight", sections.one_weight, reading).with_choices(CROSS_KEY),
        section("From the weights to what is read", sections.one_output, reading),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
