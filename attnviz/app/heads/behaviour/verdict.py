"""Whether it matters that a head looks where it looks: the stored verdict, as pages show it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from attnviz.app import caches, markdown
from attnviz.app.heads.behaviour.words import in_markdown
from attnviz.capture import loading
from attnviz.experiments import verdicts_file
from attnviz.experiments.sentences import self_attention
from attnviz.experiments.verdicts import METHOD_STEPS, HeadVerdicts
from attnviz.trace import Kind


def stored(model: str) -> HeadVerdicts | None:
    """The verdicts on a model's heads, if some come with attnviz."""
    return verdicts_file.stored(caches.entry(model))


def draw(model: str, kind: Kind, layer: int, head: int) -> None:
    """Draw the verdict on a head, from 0; nothing for attention on which there are none."""
    if kind != self_attention(caches.entry(model)):
        return
    found = stored(model)
    if found is None and caches.entry(model).engine == "storyteller":
        return  # the sentences to measure with have words that it has never seen
    if found is None and loading.ready(model) and loading.load(model).weights_alone:
        return  # it cannot be measured
    if found is None:
        command = markdown.code(f"{verdicts_file.COMMAND} --model {caches.called(model)}")
        st.markdown(
            ":small[Whether it matters where a head looks was not measured for this model. "
            f"{command} measures it.]"
        )
        return
    found = replace(found, special=in_markdown(found.special))
    st.markdown(found.told(layer, head))
    measured = st.expander(
        "What was measured", icon=":material/calculate:", key="what was measured", on_change="rerun"
    )
    if measured.open:
        with measured:
            st.markdown(found.evidence(layer, head))
            steps = METHOD_STEPS.items()
            st.markdown("\n".join(f"- :small[**{step}**: {markdown.plain(done)}]" for step, done in steps))
