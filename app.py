"""The frame around every page: settings, navigation, and the model that loads behind the first picture."""

from attnviz.app import frame, warm_up

frame.configure()
page = frame.navigation()
page.run()
warm_up.start()
