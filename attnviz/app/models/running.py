"""What the operator of a server decides: which models visitors may choose, and how large they may be."""

from __future__ import annotations

import streamlit as st

from attnviz.models import allowed, limits
from attnviz.text import in_bytes


def draw() -> None:
    """Tell how this server is set up, and how to set up another."""
    if allowed.public():
        st.markdown(
            "Whoever runs this server has chosen its models. To open one of your own, start attnviz on your "
            "own machine."
        )
        return
    st.header("For whoever runs a server", anchor=False)
    st.markdown(
        "Everybody who reaches this server can open models on it: it reads folders of this machine, and "
        "downloads. Before you let others in, name the models that they may choose from; nothing else can "
        "then be opened:"
    )
    st.code(
        f"{allowed.SETTING}='minilm, translator, GPT-2=/models/gpt2' make app",
        language="bash",
        wrap_lines=True,
    )
    st.markdown(
        "Catalogue names, folders and Hugging Face ids, with commas between them. What stands before `=` is "
        "what visitors read; without it, a folder goes by its last part. One model may take "
        f"{in_bytes(limits.most_bytes())} of memory; `{limits.SETTING}=8` allows 8 GB. A link never loads a "
        "model from somewhere: it chooses among those that are open already."
    )
