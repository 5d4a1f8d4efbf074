"""Live rooms for a class, and lesson plans for its teacher.

Followers are never redirected to this page, and do not see the sections for teachers.
"""

from attnviz.app.classroom import bar, sections
from attnviz.app.lessons import plan
from attnviz.app.page import page

with page("classroom", "Classroom"):
    sections.draw()
    if bar.seat().teaches or not bar.seat().room:
        sections.draw_teachers_heading()
        plan.draw()
