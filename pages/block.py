"""What happens inside a block? One token's vector, from station to station and from layer to layer."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.block import sections
from attnviz.app.learn.lesson import lesson, not_shown, the_code

with lesson("block") as places:
    chosen = places.controls(sections.choose)
    places.picture(sections.picture, chosen)
    places.question(sections.question, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("The parts, one by one", sections.parts, chosen),
        section("Layer by layer", sections.layer_by_layer, chosen),
        section("The neurons of this layer", sections.neurons, chosen),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
