"""How does a transformer translate? English in, French out, and which word read which on the way."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.translate import encoder_decoder, sections, translating

with lesson("translate") as places:
    chosen = places.controls(translating.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(encoder_decoder.text, chosen)
    places.folded(
        section("Step by step", encoder_decoder.steps, chosen),
        section("What every head read", encoder_decoder.every_head, chosen),
        section("Its learned numbers", encoder_decoder.made_of, chosen),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, chosen),
    )
