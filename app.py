"""The frame around every page: settings, navigation, and the model that loads behind the first picture."""

import streamlit as st

from attnviz.ui import frame, warm_up

st.set_page_config(page_title="attnviz", page_icon="🔍", layout="wide")
page = frame.navigation()
page.run()
warm_up.start()
