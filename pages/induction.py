"""What is an induction head? Random words are said twice, and the heads that copy them are silenced."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.induction import other_models, sections
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.state.choices import IN_YOUR_MODEL

with lesson("induction") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("Every head, silenced", sections.tried, chosen),
        section("By query, key or value?", sections.paths, chosen),
        section("In BERT, and in your model", other_models.draw).with_choices(IN_YOUR_MODEL),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, chosen),
    )
