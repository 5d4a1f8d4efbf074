"""What changes between two sentences, or two models?"""

from attnviz.app.folded import NOT_SHOWN, folded, section
from attnviz.app.heads.compare import between, choices, explained, two_models, two_sentences
from attnviz.app.heads.tool import tool
from attnviz.app.state.choices import TURNED

with tool("compare"):
    compared, places = choices.choose()
    if compared:
        draw = two_models.draw if compared.two_models else two_sentences.draw
        measured = draw(compared, places)
        folded(
            *(
                []
                if compared.two_models
                else [section("Turn one word into the other", between.draw, compared).with_choices(TURNED)]
            ),
            section("How words are aligned, and what is measured", explained.draw, *measured),
            section(NOT_SHOWN, explained.limits),
        )
