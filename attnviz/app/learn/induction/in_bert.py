"""Whether the bundled BERT has an induction head."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app.components.head_map import head_map
from attnviz.app.learn.computed import COMPUTING
from attnviz.app.learn.computed import induction as compute
from attnviz.app.references import cited_markdown
from attnviz.app.server.cache import cached
from attnviz.models import catalogue
from attnviz.text import head_name, percent
from attnviz.trace import Floats
from attnviz.trained.storyteller.figures import ROLE

_in_model = cached(COMPUTING, catalogue.FROM_SCRATCH)(compute.in_model)


def draw() -> None:
    """Draw the prefix-matching score of each head of the bundled BERT, and say what is highest."""
    cited_markdown(
        "BERT fills gaps (Devlin et al. 2019); it never says which word is next. So no copying is measured, "
        "only where its heads look in words that are said twice."
    )
    found = _in_model(catalogue.FROM_SCRATCH)
    values, (layer, head) = found.prefix_matching, _highest(found.prefix_matching)
    percents = [percent(value) for value in values.ravel().tolist()]
    head_map(
        "prefix matching in BERT",
        title="prefix-matching score: the mean weight on what followed the last time",
        values=values,
        texts=percents,
        printed=[f"{100 * value:.0f}" for value in values.ravel().tolist()],
        low=(0.0, "0 %"),
        high=(1.0, "100 %"),
        selected=(layer, head),
    )
    verdict = (
        "So it **has a head that looks like one**; whether it copies is not measured here."
        if values.max() >= ROLE
        else f"**None** reaches {percent(ROLE)}."
    )
    same = _highest(found.same_token)
    st.markdown(
        f"The highest is {head_name(layer, head)} with **{percent(float(values.max()))}**; equal shares "
        f"would be {percent(found.even)}. {verdict} To look at the *same* token, where it stood first, "
        f"is another thing: there, {head_name(*same)} gives the most, "
        f"{percent(float(found.same_token[same]))}."
    )


def _highest(scores: Floats) -> tuple[int, int]:
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return int(layer), int(head)
