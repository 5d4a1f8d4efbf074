"""Why many heads? Each adds its own share to the output, and together they cost no more than one."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn import spending
from attnviz.app.learn.choosing import head_selection
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.many_heads import sections, sizes
from attnviz.app.state.choices import SPENT, TOKENS_COUNTED

with lesson("many_heads") as places:
    chosen = places.controls(head_selection)
    places.question(sections.question, chosen)
    heads = places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("Spend your own 100 %", spending.draw, chosen).with_choices(SPENT),
        section("The four steps", sections.four_steps, chosen, heads),
        section("What many heads cost", sizes.cost, len(chosen.groups)),
        section("How large real models are", sizes.models).with_choices(TOKENS_COUNTED),
        section("What this head is good at", sections.habit, chosen),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, chosen),
    )
