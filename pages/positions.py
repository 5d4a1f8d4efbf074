"""How does attention know the order? Shuffle the words; then four ways to tell it, and your model's own."""

from attnviz.ui import frame
from attnviz.ui.learn import in_your_model, own_positions, position_kinds, positions
from attnviz.ui.learn.lesson import lesson

frame.require()
parameters = [*positions.PARAMETERS, *position_kinds.PARAMETERS]
with lesson("positions", parameters) as places:
    with places.controls:
        chosen = positions.choose()
    with places.question:
        positions.question(chosen)
    with places.picture:
        read = positions.picture(chosen)
    with places.text:
        positions.text(read)
    with places.more:
        position_kinds.draw(chosen.text, chosen.word)
        own_positions.draw(chosen.text)
        parameters += in_your_model.parameters()
    with places.code:
        positions.code()
    with places.limits:
        positions.limits()
