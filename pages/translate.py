"""How does a transformer translate? English in, French out, and which word read which on the way."""

from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.translate import encoder_decoder, sections, translating

with lesson("translate") as places:
    chosen = places.controls(translating.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(encoder_decoder.story, chosen)
    places.more(encoder_decoder.every_head, chosen)
    places.more(encoder_decoder.made_of, chosen)
    places.code(the_code, *sections.CODE)
    places.limits(sections.limits, chosen)
