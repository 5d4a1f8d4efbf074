"""How does a model write? Word by word: what each was chosen from, and what the heads read for it."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.write import kept, sections

with lesson("write") as places:
    text, model = places.controls(sections.choose)
    places.question(sections.question, text, model)
    story = places.picture(sections.write, text, model)
    places.picture(sections.picture, story)
    places.text(sections.text)
    places.folded(
        section("What each head read", sections.heads, story),
        section("With and without a mask", kept.mask, story),
        section("What is computed again", kept.cache, story),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, model),
    )
