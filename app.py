"""The frame around every page: settings and navigation."""

from attnviz.app import frame, garbage
from attnviz.app.classroom import bar
from attnviz.app.state import memory

frame.configure()
garbage.collect_when_idle()
page = frame.navigation()
with memory.drawing(), bar.after(page):
    page.run()
