"""Five questions about a sentence of one's own, and a code for the result."""

from attnviz.app.learn import assigned
from attnviz.app.page import page

with page("assignment", "Assignment", lambda: None):
    assigned.ask(assigned.choose())
