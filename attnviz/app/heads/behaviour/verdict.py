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


def tell(model: str, kind: Kind, layer: int, head: int) -> None:
    """Draw the verdict on a head, from 0; nothing for attention on which there are none."""
    if found := _found(model, kind):
        st.markdown(found.told(layer, head))
        return
    if kind != self_attention(caches.entry(model)) or caches.entry(model).engine == "storyteller":
        return  # the sentences to measure with have words that a storyteller has never seen
    if loading.ready(model) and loading.load(model).weights_alone:
        return  # it cannot be measured
    command = markdown.code(f"{verdicts_file.COMMAND} --model {caches.called(model)}")
    st.markdown(
        f":small[Whether it matters where a head looks was not measured for this model. {command} "
        "measures it.]"
    )


def offer_evidence(model: str, kind: Kind, layer: int, head: int) -> None:
    """Draw a button that opens what the verdict on a head, from 0, rests on; nothing without a verdict."""
    if not _found(model, kind):
        return
    evidence = st.popover(
        "What was measured", icon=":material/calculate:", key="what was measured", on_change="rerun"
    )
    if evidence.open:
        with evidence:
            measured(model, kind, layer, head)


def measured(model: str, kind: Kind, layer: int, head: int) -> None:
    """Draw what the verdict rests on, where there is one."""
    if found := _found(model, kind):
        st.markdown(found.evidence(layer, head))
        steps = METHOD_STEPS.items()
        st.markdown("\n".join(f"- :small[**{step}**: {markdown.plain(done)}]" for step, done in steps))


def _found(model: str, kind: Kind) -> HeadVerdicts | None:
    """The verdicts on the heads of this kind of attention."""
    found = stored(model) if kind == self_attention(caches.entry(model)) else None
    return found and replace(found, special=in_markdown(found.special))
