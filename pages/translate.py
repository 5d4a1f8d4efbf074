"""How does a transformer translate? English in, French out, and which word read which on the way."""

from attnviz.ui import frame
from attnviz.ui.learn import encoder_decoder, every_head, translate, translating
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("translate", translating.PARAMETERS) as places:
    with places.controls:
        chosen = translating.choose()
    with places.question:
        translate.question(chosen)
    with places.picture:
        translate.picture(chosen)
    with places.text:
        encoder_decoder.story(chosen)
    with places.more:
        every_head.every_head(chosen)
        encoder_decoder.made_of(chosen)
    with places.code:
        translate.code()
    with places.limits:
        translate.limits(chosen)
