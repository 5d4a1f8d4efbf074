"""What is an induction head? Random words are said twice, and the heads that copy them are silenced."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.induction import in_bert, sections
from attnviz.app.learn.lesson import lesson, the_code

with lesson("induction") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("Every head, silenced", sections.tried, chosen),
        section("By query, key or value?", sections.paths, chosen),
        section("In BERT", in_bert.draw),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, chosen),
    )
