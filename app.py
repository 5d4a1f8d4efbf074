"""The frame around every page: settings, navigation, and the model that loads behind the first picture."""

from attnviz.app import frame, garbage, warm_up
from attnviz.app.classroom import bar
from attnviz.app.state import memory

frame.configure()
garbage.collect_when_idle()
page = frame.navigation()
with memory.drawing(), bar.after(page):
    page.run()
warm_up.start()
