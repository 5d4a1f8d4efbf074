"""How does a model write? Word by word: what each was chosen from, and what the heads read for it."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.write import kept, sections

with lesson("write") as places:
    text, model = places.controls(sections.choose)
    places.question(sections.question, text, model)
    story = places.picture(sections.write, text, model)
    places.picture(sections.picture, story)
    places.text(sections.text, model)
    places.more(sections.heads, story)
    places.more(kept.mask, story)
    places.more(kept.cache, story)
    places.code(sections.code)
    places.limits(sections.limits, model)
