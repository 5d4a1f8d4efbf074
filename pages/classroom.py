"""For a class: a live room, and for its teacher lesson plans.

Followers are never moved to this page, and see none of what is for teachers.
"""

from attnviz.app.classroom import bar, sections
from attnviz.app.lessons import plan
from attnviz.app.page import page

with page("classroom", "Classroom"):
    sections.draw()
    if bar.seat().teaches or not bar.seat().room:
        sections.for_teachers()
        plan.draw()
