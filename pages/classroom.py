"""For a class: a live room, and for its teacher plans, assignments, handouts and the check of results.

Followers are never moved to this page, and see none of what is for teachers.
"""

from attnviz.app.classroom import bar, sections
from attnviz.app.folded import folded, section
from attnviz.app.learn import assigned, handout, plan
from attnviz.app.page import page
from attnviz.app.state.choices import BLANKS, HANDED_OUT, READ_IN_HANDOUT

with page("classroom", "Classroom"):
    sections.draw()
    if bar.seat().teaches or not bar.seat().room:
        sections.for_teachers()
        folded(
            section("Lesson plans", plan.draw),
            section("Handout", handout.draw).with_choices(HANDED_OUT, READ_IN_HANDOUT, BLANKS),
            section("Check results", assigned.check),
        )
