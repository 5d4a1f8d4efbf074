"""What changes between two sentences, or two models?"""

import streamlit as st

from attnviz.ui import frame
from attnviz.ui.heads.compare import choices, explained, two_models, two_sentences
from attnviz.ui.heads.tool import tool

frame.require()
with tool("compare", choices.PARAMETERS):
    if compared := choices.choose():
        finding = st.container()
        compared, how = choices.how(compared)
        (two_models if compared.two_models else two_sentences).draw(compared, how, finding)
        explained.draw(compared, how)
