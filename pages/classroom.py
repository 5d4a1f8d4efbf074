"""A live room: a class goes where its teacher goes, and votes."""

from attnviz.app.classroom import sections
from attnviz.app.page import page

with page("classroom", "Classroom"):
    sections.draw()
