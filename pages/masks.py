"""Who may look at whom? A mask decides: here you draw it, and see those of your model."""

from attnviz.ui import frame
from attnviz.ui.learn import in_your_model, masks, own_masks, reach
from attnviz.ui.learn.lesson import lesson

frame.require()
parameters = [*masks.PARAMETERS, *reach.PARAMETERS]
with lesson("masks", parameters) as places:
    with places.controls:
        chosen = masks.choose()
    with places.question:
        masks.question(chosen)
    with places.text:
        drawn_as_text = masks.text(chosen)
    with places.picture:
        masks.picture(chosen, drawn_as_text)
    with places.more:
        reach.draw(chosen.text)
        own_masks.draw(chosen.text)
        parameters += in_your_model.parameters()
    with places.code:
        masks.code()
    with places.limits:
        masks.limits()
