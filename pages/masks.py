"""Who may look at whom? A mask decides: here you draw it."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, not_shown
from attnviz.app.learn.masks import reach, sections, teacher_forcing
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import EDITED, REPLACEMENT

with lesson("masks") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    drawn_as_text = places.text(sections.text)
    places.picture(sections.picture, chosen, drawn_as_text)
    places.folded(
        section("What a causal mask changes", sections.causal, chosen),
        section("Which outputs can one word change?", reach.draw, chosen.text).with_choices(
            EDITED, REPLACEMENT
        ),
        section("Training shows all words at once", teacher_forcing.draw),
        section("Who uses which mask", cited_markdown, sections.USED_BY),
        section(THE_CODE, sections.code),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
