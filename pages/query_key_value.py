"""What are query, key and value? Six steps for one token, each with its real matrices."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.query_key_value import sections
from attnviz.app.state.choices import CONVENTION

with lesson("query_key_value") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("Why three, and not one?", sections.why_three, chosen),
        section("All queries at once", sections.all_queries, chosen).with_choices(CONVENTION),
        section("The steps in words", sections.in_words, chosen),
        section(THE_CODE, sections.code, chosen),
        section(NOT_SHOWN, sections.limits, chosen),
    )
