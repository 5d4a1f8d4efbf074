"""How does a transformer translate? English in, French out, and which word read which on the way."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.translate import encoder_decoder, sections, translating

with lesson("translate") as places:
    with places.controls:
        chosen = translating.choose()
    with places.question:
        sections.question(chosen)
    with places.picture:
        sections.picture(chosen)
    with places.text:
        encoder_decoder.story(chosen)
    with places.more:
        encoder_decoder.every_head(chosen)
        encoder_decoder.made_of(chosen)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits(chosen)
